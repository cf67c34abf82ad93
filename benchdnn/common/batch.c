/* Batch files: tokenizing, search path, nesting. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

char bd_exe_dir[1024] = ".";

#define MAX_DIRS 64
#define MAX_DEPTH 32
static char *dirs[MAX_DIRS]; /* where earlier batch files were found */
static int n_dirs, depth;

/* Tokens of a batch file. A backslash at the end of a token, or alone after it on its line, joins the next one;
 * alone on its line it means nothing. */
typedef struct {
    void (*fn)(void *, const char *);
    void *arg;
    char *tok; /* the token so far */
    size_t len;
    bool last_option;
} tokens_t;

static void flush(tokens_t *t) {
    if (!t->len) return;
    t->tok[t->len] = 0;
    t->last_option = !strncmp(t->tok, "--", 2) && strncmp(t->tok, "--batch=", 8) && strcmp(t->tok, "--reset");
    t->fn(t->arg, t->tok);
    t->len = 0;
}

int bd_batch_tokens(const char *text, size_t n, void (*fn)(void *, const char *), void *arg) {
    tokens_t t = {.fn = fn, .arg = arg, .tok = bd_alloc(n + 1, 16)};
    size_t i = 0;
    bool join = false; /* the next token continues this one */
    while (i < n) {
        if (text[i] == '\n' && !join) flush(&t);
        if (isspace((unsigned char)text[i]) || !text[i]) {
            ++i;
            continue;
        }
        size_t b = i;
        while (i < n && !isspace((unsigned char)text[i]) && text[i]) ++i;
        if (text[b] == '#') { /* the rest of the line is a comment */
            while (i < n && text[i] != '\n') ++i;
            continue;
        }
        bool lone = i == b + 1 && text[b] == '\\';
        if (!join && !lone) flush(&t);
        memcpy(t.tok + t.len, text + b, i - b);
        t.len += i - b;
        join = t.tok[t.len - 1] == '\\';
        t.len -= join;
    }
    flush(&t);
    bd_free(t.tok);
    return t.last_option;
}

static FILE *try_open(const char *dir, const char *sep, const char *sub, const char *name, char *path,
                      size_t size) {
    path[0] = 0;
    bd_cat(path, size, "%s%s%s%s", dir, sep, sub, name);
    return fopen(path, "r");
}

static FILE *search(const bd_driver_t *d, const char *name, char *path, size_t size) {
    FILE *f = try_open("", "", "", name, path, size);
    if (*name == '/') return f;
    for (int i = 0; !f && i < n_dirs; ++i) f = try_open(dirs[i], "/", "", name, path, size);
    char sub[64] = "";
    bd_cat(sub, sizeof sub, "inputs/%s/", d->name);
    if (!f) f = try_open(bd_exe_dir, "/", sub, name, path, size);
    if (!f) f = try_open(bd_exe_dir, "/../", sub, name, path, size);
    return f;
}

static void remember_dir(const char *path) {
    const char *e = strrchr(path, '/');
    size_t n = e ? (size_t)(e - path) : 1;
    const char *from = e ? path : ".";
    for (int i = 0; i < n_dirs; ++i)
        if (strlen(dirs[i]) == n && !strncmp(dirs[i], from, n)) return;
    if (n_dirs == MAX_DIRS) return;
    dirs[n_dirs] = bd_alloc(n + 1, 16);
    memcpy(dirs[n_dirs], from, n);
    dirs[n_dirs++][n] = 0;
}

static void one_token(void *arg, const char *tok) { bd_driver_token(arg, tok); }

void bd_batch(const bd_driver_t *d, const char *name) {
    char path[2048];
    FILE *f = search(d, name, path, sizeof path);
    if (!f) bd_die(BD_EXIT_FAIL, "cannot open file %s", name);
    if (++depth > MAX_DEPTH)
        bd_die(BD_EXIT_FAIL, "Error: batch files nested deeper than %d at '%s'.", MAX_DEPTH, name);
    remember_dir(path);
    size_t cap = 1 << 16, n = 0;
    char *text = malloc(cap);
    while (text) {
        n += fread(text + n, 1, cap - n, f);
        if (n < cap) break;
        char *grown = realloc(text, cap *= 2);
        if (!grown) free(text);
        text = grown;
    }
    bool bad = !text || ferror(f);
    fclose(f);
    if (bad) bd_die(BD_EXIT_FAIL, "cannot open file %s", name);
    if (bd_batch_tokens(text, n, one_token, (void *)d) && bd.verbose)
        fprintf(stderr, "warning: batch file '%s' ends with an option.\n", name);
    free(text);
    --depth;
}
