/* See output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *volatile being_written; /* a temporary file, the last one that was made */

static int fail_create(const char *path, se_error_t *error) {
    return se_fail(error, "%s: cannot create: %s", path, strerror(errno));
}

static int is_standard(const char *path) { return !strcmp(path, "-"); }

/* A regular file that is there, or one that is made: what may be written beside its place and renamed. *target
 * is its path without links. Everything else (NULL) is opened as it is. */
static int find_target(const char *path, char **target, mode_t *mode, se_error_t *error) {
    struct stat st, link;
    const int is_there = !stat(path, &st), is_link = !lstat(path, &link) && S_ISLNK(link.st_mode);
    *target = NULL;
    *mode = 0;
    if (is_standard(path)) return 0;
    if (is_there && S_ISDIR(st.st_mode)) return se_fail(error, "%s: is a folder", path);
    if (is_there && access(path, W_OK)) return fail_create(path, error);
    if (is_there ? !S_ISREG(st.st_mode) : is_link)
        return 0; /* a link to nothing: opening it makes its target */
    char real[PATH_MAX];
    if (is_there && !realpath(path, real)) return fail_create(path, error);
    *target = se_strdup(is_there ? real : path);
    if (is_there) *mode = st.st_mode & 07777;
    return *target ? 0 : se_fail_memory(error);
}

static void forget(se_output_t *out) {
    if (being_written == out->temporary) being_written = NULL;
    se_free(out->temporary);
    out->temporary = NULL;
}

static int open_temporary(se_output_t *out, mode_t mode, se_error_t *error) {
    static const char suffix[] = ".tmp.XXXXXX";
    out->temporary = se_alloc(strlen(out->target) + sizeof suffix);
    if (!out->temporary) return se_fail_memory(error);
    strcpy(out->temporary, out->target);
    strcat(out->temporary, suffix);
    being_written = out->temporary;
    int fd = mkstemp(out->temporary);
    if (fd < 0) {
        fail_create(out->path, error);
        forget(out); /* nothing to remove */
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    out->file = fchmod(fd, mode ? mode : 0666 & ~mask) ? NULL : fdopen(fd, "wb");
    if (out->file) return 0;
    fail_create(out->path, error);
    close(fd);
    return -1;
}

static int open_in_place(se_output_t *out, se_error_t *error) {
    int fd = -1;
    if (!is_standard(out->path)) out->file = fopen(out->path, "wbe");
    else if ((fd = dup(STDOUT_FILENO)) >= 0) out->file = fdopen(fd, "wb");
    if (out->file) return 0;
    fail_create(out->path, error);
    if (fd >= 0) close(fd);
    return -1;
}

int se_output_open(se_output_t *out, const char *path, se_error_t *error) {
    mode_t mode;
    *out = (se_output_t){0};
    if (find_target(path, &out->target, &mode, error)) return -1;
    out->path = se_strdup(path);
    int status = !out->path    ? se_fail_memory(error)
                 : out->target ? open_temporary(out, mode, error)
                               : open_in_place(out, error);
    if (status) se_output_abandon(out);
    return status;
}

int se_output_commit(se_output_t *out, se_error_t *error) {
    int failed = fflush(out->file) || ferror(out->file), saved = errno;
    if (fclose(out->file) && !failed) failed = 1, saved = errno;
    out->file = NULL;
    if (!failed && out->target && rename(out->temporary, out->target)) failed = 1, saved = errno;
    if (failed) {
        se_fail(error, "%s: cannot write: %s", out->path, strerror(saved));
    } else if (out->temporary) { /* it has its name */
        forget(out);
    }
    se_output_abandon(out);
    return failed ? -1 : 0;
}

void se_output_abandon(se_output_t *out) {
    if (out->file) fclose(out->file);
    if (out->temporary) unlink(out->temporary);
    forget(out);
    se_free(out->path);
    se_free(out->target);
    *out = (se_output_t){0};
}

void se_output_hold_standard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY); /* the lowest number that is free */
}

static void remove_and_end(int number) {
    if (being_written) (void)unlink(being_written);
    (void)raise(number); /* as if nobody had taken it: SA_RESETHAND */
}

void se_output_remove_on_signal(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = remove_and_end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        struct sigaction before;
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

int se_output_check(const char *option, const char *path, se_error_t *error) {
    se_error_t why;
    se_output_t out = {0};
    mode_t mode;
    int status = find_target(path, &out.target, &mode, &why);
    if (!status && out.target) {
        out.path = se_strdup(path);
        status = out.path ? open_temporary(&out, mode, &why) : se_fail_memory(&why);
    }
    se_output_abandon(&out);
    return status ? se_fail(error, "%s %.400s", option, why.text) : 0;
}

int se_output_differs(const char *option, const char *path, const char *other_option, const char *other,
                      int other_is_input, se_error_t *error) {
    struct stat a, b;
    if (!path || !other) return 0;
    if (is_standard(path) && is_standard(other) && !other_is_input)
        return se_fail(error, "%s and %s are both standard output", option, other_option);
    if (is_standard(path) ? fstat(STDOUT_FILENO, &a) : stat(path, &a)) {
        /* Neither is there yet: the same name is the same file. */
        if (is_standard(path) || other_is_input || strcmp(path, other)) return 0;
    } else {
        if (!S_ISREG(a.st_mode) && !S_ISFIFO(a.st_mode)) return 0;
        const int standard = other_is_input ? STDIN_FILENO : STDOUT_FILENO;
        if (is_standard(other) ? fstat(standard, &b) : stat(other, &b)) return 0;
        if (a.st_dev != b.st_dev || a.st_ino != b.st_ino) return 0;
    }
    return se_fail(error, "%s %s: is also %s", option, path, other_option);
}
