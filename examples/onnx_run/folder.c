/* See folder.h. */
#include "folder.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int folder_is(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int is_there(const char *path) {
    struct stat st;
    return !stat(path, &st);
}

static int join(char path[FOLDER_PATH], const char *folder, const char *name, se_error_t *error) {
    if (snprintf(path, FOLDER_PATH, "%s/%s", folder, name) < FOLDER_PATH) return 0;
    return se_fail(error, "%.200s...: the name is too long", folder);
}

/* model.onnx, or the only file with that ending. */
int folder_model(const char *folder, char path[FOLDER_PATH], se_error_t *error) {
    if (join(path, folder, "model.onnx", error)) return -1;
    if (is_there(path)) return 0;
    DIR *dir = opendir(folder);
    int found = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        const char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".onnx")) continue;
        if (++found == 1 && join(path, folder, e->d_name, error)) break;
    }
    if (dir) (void)closedir(dir);
    return found == 1 ? 0
                      : se_fail(error, "%s: a folder without model.onnx, and with %d other .onnx files",
                                folder, found);
}

static int file_of(char path[FOLDER_PATH], const char *folder, int set, const char *kind, int k,
                   se_error_t *error) {
    char name[64];
    (void)snprintf(name, sizeof name, "test_data_set_%d/%s_%d.pb", set, kind, k);
    return join(path, folder, name, error);
}

int folder_each(const char *folder, int (*look)(void *arg, const char *path, se_error_t *error), void *arg,
                se_error_t *error) {
    static const char *const kinds[] = {"input", "output"};
    char path[FOLDER_PATH];
    for (int set = 0, found = 1; found; ++set) {
        found = 0;
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind)
            for (int k = 0;; ++k) {
                if (file_of(path, folder, set, kinds[kind], k, error)) return -1;
                if (!is_there(path)) break;
                const int status = look(arg, path, error);
                if (status) return status;
                found = 1;
            }
    }
    return 0;
}

/* The port that the file names; else the k-th that has no default. */
static int port_for(const dnnl_tp_onnx_port_t *ports, int n, const array_t *a, int k) {
    const int by_name = *a->name ? port_of(ports, n, a->name) : -1;
    if (by_name >= 0) return by_name;
    for (int i = 0; i < n; ++i)
        if (!(ports[i].flags & DNNL_TP_ONNX_HAS_DEFAULT) && k-- == 0) return i;
    return -1;
}

int folder_inputs(job_t *j, const char *folder, int set, se_error_t *error) {
    const model_t *m = j->model;
    char path[FOLDER_PATH], name[64];
    (void)snprintf(name, sizeof name, "test_data_set_%d", set);
    if (join(path, folder, name, error)) return -1;
    if (!is_there(path)) return 1;
    for (int k = 0;; ++k) {
        array_t a;
        if (file_of(path, folder, set, "input", k, error)) return -1;
        if (!is_there(path)) return 0;
        if (array_read(&a, path, error)) return -1;
        const int i = port_for(m->in, m->info.inputs, &a, k);
        if (i >= 0 && options_find(&m->o->inputs, m->in[i].name)) {
            array_free(&a);
            continue;
        }
        if (i >= 0 && !j->in[i].data) {
            j->in[i] = a;
            continue;
        }
        array_free(&a);
        return se_fail(error, "%s: the model has no input for it", path);
    }
}

void verify_output(const job_t *j, int output, const char *path, const array_t *want, int *wrong) {
    const options_t *o = j->model->o;
    const array_t *got = &j->out[output];
    const char *name = j->model->out[output].name;
    char a[ARRAY_TEXT], b[ARRAY_TEXT];
    int same = got->info.ndims == want->info.ndims && got->info.data_type == want->info.data_type;
    for (int d = 0; same && d < want->info.ndims; ++d) same = got->info.dims[d] == want->info.dims[d];
    if (!same) {
        ++*wrong;
        fprintf(o->text, "output '%s': WRONG: it is %s, %s has %s\n", name, array_text(&got->info, a), path,
                array_text(&want->info, b));
        return;
    }
    const difference_t d = array_compare(got, want, o->rtol, o->atol);
    *wrong += d.bad > 0;
    fprintf(o->text, "output '%s': %s: largest difference to %s: %g", name, d.bad ? "WRONG" : "right", path,
            d.largest);
    if (d.bad)
        fprintf(o->text,
                "; %zu of %zu elements differ by more than rtol %g, atol %g allow, the worst at %s: %g, "
                "wanted %g",
                d.bad, count_of(&want->info), o->rtol, o->atol, array_place(&want->info, d.first, a),
                element(got->data, got->info.data_type, d.first),
                element(want->data, want->info.data_type, d.first));
    else fprintf(o->text, " (%.2g of the tolerance)", d.part);
    fputs("\n", o->text);
}

int folder_verify(const job_t *j, const char *folder, int set, int *wrong, se_error_t *error) {
    const model_t *m = j->model;
    char path[FOLDER_PATH];
    int k = 0;
    for (;; ++k) {
        array_t want;
        if (file_of(path, folder, set, "output", k, error)) return -1;
        if (!is_there(path)) break;
        if (array_read(&want, path, error)) return -1;
        const int i = port_for(m->out, m->info.outputs, &want, k);
        if (i >= 0) verify_output(j, i, path, &want, wrong);
        array_free(&want);
        if (i < 0) return se_fail(error, "%s: the model has no output for it", path);
    }
    return k > 0 ? 0 : se_fail(error, "%s: there is nothing to compare with", path);
}
