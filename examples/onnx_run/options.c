/* See options.h. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

static const char help[] =
    "Runs an ONNX model on dnnl_tp.\n"
    "\n"
    "  onnx_run MODEL [options]\n"
    "\n"
    "MODEL is a file, or a folder of ONNX test data: its model.onnx runs on the inputs of each "
    "test_data_set_N, and\n"
    "the outputs are verified. Arrays come from .npy files or from .pb files (TensorProto).\n"
    "\n"
    "  --input NAME=FILE     an input; those that are not given are generated\n"
    "  --dim NAME=SIZE       a symbolic dimension of the generated inputs\n"
    "  --batch SIZE          the first dimension of every input, whatever the file says\n"
    "  --seed NUMBER         of generated inputs (default 1): numbers in -1..1, integers 0 and 1\n"
    "  --base DIR            folder of the files that the model refers to (default: the model's own)\n"
    "\n"
    "  --output NAME=FILE    writes an output as .npy\n"
    "  --verify [NAME=]FILE  compares an output with a file; without NAME: the one that the file names, else "
    "the first\n"
    "  --rtol X, --atol X    an element is right within atol + rtol |wanted| (default 1e-3, 1e-5); integers "
    "are exact\n"
    "  --top K               prints the K largest elements along the last dimension of each output\n"
    "  --labels FILE         with --top: their names, one a line\n"
    "\n"
    "  --threads N           threads that compute at once (default 1)\n"
    "  --pool KIND           whose threads (default %s); here:\n"
    "                        %s\n"
    "  --bf16                values between operators, and weights, in bf16: faster where there is "
    "AVX512-BF16; inputs\n"
    "                        and outputs stay as they are; with --verify give --rtol and --atol that fit\n"
    "  --repeat N            timed runs of each client (default 0: only the first run)\n"
    "  --clients N           threads that run at once, each in a loop, on the one pool (default 1)\n"
    "  --warmup N            untimed runs of each client (default 2)\n"
    "\n"
    "  --profile[=FILE]      a table of the layers: time, share, implementation, shape, GFLOP/s, part of "
    "this machine's\n"
    "                        peak, bytes; where the results are said, or in FILE\n"
    "  --trace FILE          what ran when, for https://ui.perfetto.dev; FILE.txt, FILE.folded: tables, "
    "flame graphs\n"
    "  --dot FILE            the graph, for Graphviz\n"
    "  --quiet               no progress\n"
    "  --version             the versions of this program and of the library\n"
    "  --help                this text\n"
    "\n"
    "A value follows its option, or \"=\". FILE may be \"-\": standard input, or standard output; MODEL may, "
    "too. "
    "Regular\n"
    "files appear when they are complete; links are followed; devices and pipes are written through. An "
    "output "
    "that is\n"
    "also an input, a file of the folder, or of the model's external data, is refused.\n"
    "Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage, 3 an output is not "
    "as --verify\n"
    "wants it.\n";

enum { MAX_CLIENTS = 256, MAX_THREADS = 256, MAX_RUNS = 100000000, MAX_TOP = 1000 };

static int whole(const char *key, const char *text, int64_t least, int64_t most, int64_t *value,
                 se_error_t *error) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (*text && !*end && !errno && *value >= least && *value <= most) return 0;
    return se_fail(error, "%s %s: a whole number in %lld..%lld is needed", key, text, (long long)least,
                   (long long)most);
}

static int real(const char *key, const char *text, double *value, se_error_t *error) {
    char *end;
    *value = strtod(text, &end);
    if (*text && !*end && isfinite(*value) && *value >= 0) return 0;
    return se_fail(error, "%s %s: a number that is not negative is needed", key, text);
}

/* NAME=FILE, cut in two. */
static int named(const char *key, char *text, int may_lack_name, list_t *list, se_error_t *error) {
    char *equals = strchr(text, '=');
    if (!equals && !may_lack_name) return se_fail(error, "%s %s: NAME=VALUE is needed", key, text);
    if (list->n == MAX_NAMED) return se_fail(error, "%s: more than %d of them", key, MAX_NAMED);
    if (equals && !equals[1]) return se_fail(error, "%s %s: a value is missing", key, text);
    if (equals) *equals = 0;
    if (equals && !may_lack_name && options_find(list, text))
        return se_fail(error, "%s %s: it is given twice", key, text);
    list->entry[list->n++] = equals ? (named_t){text, equals + 1} : (named_t){NULL, text};
    return 0;
}

static int dim(options_t *o, char *text, se_error_t *error) {
    list_t given = {.n = 0};
    char key[64];
    for (int i = 0; i < o->ndims; ++i) given.entry[given.n++] = (named_t){o->dims[i].name, ""};
    if (named("--dim", text, 0, &given, error)) return -1;
    const named_t *last = &given.entry[given.n - 1];
    int64_t size;
    (void)snprintf(key, sizeof key, "--dim %.50s", last->name);
    if (whole(key, last->path, 0, INT32_MAX, &size, error)) return -1;
    o->dims[o->ndims++] = (dnnl_tp_onnx_dim_t){last->name, size};
    return 0;
}

/* key: `length` characters. value NULL: the command line ends there. */
static int option(options_t *o, const char *key, size_t length, char *value, se_error_t *error) {
    const struct {
        const char *key;
        const char **text;
        list_t *list;
        int *number;
        int64_t *large;
        double *real;
        int64_t least, most;
    } table[] = {{"--input", .list = &o->inputs},
                 {"--output", .list = &o->outputs},
                 {"--verify", .list = &o->verify},
                 {"--dim", .text = NULL},
                 {"--base", .text = &o->base},
                 {"--pool", .text = &o->pool},
                 {"--dot", .text = &o->dot},
                 {"--trace", .text = &o->trace},
                 {"--labels", .text = &o->labels},
                 {"--rtol", .real = &o->rtol},
                 {"--atol", .real = &o->atol},
                 {"--batch", .large = &o->batch, .least = 1, .most = INT32_MAX},
                 {"--seed", .large = &o->seed, .most = INT64_MAX / 2 - 1},
                 {"--threads", .number = &o->threads, .least = 1, .most = MAX_THREADS},
                 {"--clients", .number = &o->clients, .least = 1, .most = MAX_CLIENTS},
                 {"--repeat", .number = &o->repeat, .most = MAX_RUNS},
                 {"--warmup", .number = &o->warmup, .most = MAX_RUNS},
                 {"--top", .number = &o->top, .least = 1, .most = MAX_TOP}};
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
        const char *name = table[i].key;
        if (strlen(name) != length || strncmp(key, name, length) != 0) continue;
        if (!value || !*value) return se_fail(error, "%s: a value is missing; see onnx_run --help", name);
        if (table[i].list) return named(name, value, table[i].list == &o->verify, table[i].list, error);
        if (table[i].large) return whole(name, value, table[i].least, table[i].most, table[i].large, error);
        if (table[i].real) return real(name, value, table[i].real, error);
        if (table[i].text) {
            *table[i].text = value;
            return 0;
        }
        if (!table[i].number) return dim(o, value, error);
        int64_t v = 0;
        const int status = whole(name, value, table[i].least, table[i].most, &v, error);
        *table[i].number = (int)v;
        return status;
    }
    return se_fail(error, "%s: there is no such option; see onnx_run --help", key);
}

static int flag(options_t *o, const char *key) {
    static const char profile[] = "--profile";
    if (!strncmp(key, profile, sizeof profile - 1) &&
        (!key[sizeof profile - 1] || key[sizeof profile - 1] == '='))
        o->profile = key[sizeof profile - 1] ? key + sizeof profile : "-";
    else if (!strcmp(key, "--quiet")) o->quiet = 1;
    else if (!strcmp(key, "--bf16")) o->bf16 = 1;
    else return 0;
    return 1;
}

int options_parse(options_t *o, int argc, char **argv, se_error_t *error) {
    *o = (options_t){.threads = 1, .clients = 1, .warmup = 2, .seed = 1, .rtol = 1e-3, .atol = 1e-5};
    for (int i = 1; i < argc; ++i) {
        char *key = argv[i];
        if (!strcmp(key, "--help") || !strcmp(key, "--version")) {
            char pools[POOL_NAMES];
            if (key[2] == 'h') printf(help, pool_default(), pool_names(pools));
            else
                printf("onnx_run " ONNX_RUN_VERSION ", dnnl_tp %d.%d.%d\n", dnnl_tp_version()->library_major,
                       dnnl_tp_version()->library_minor, dnnl_tp_version()->library_patch);
            return 1;
        }
        if (key[0] != '-' || !key[1]) {
            if (o->model) return se_fail(error, "%s: the model is %s already", key, o->model);
            o->model = key;
        } else if (!flag(o, key)) {
            const size_t length = strcspn(key, "=");
            char *value = key[length] ? key + length + 1 : i + 1 < argc ? argv[++i] : NULL;
            if (option(o, key, length, value, error)) return -1;
        }
    }
    if (!o->model) return se_fail(error, "no model is given; see onnx_run --help");
    if (o->profile && !*o->profile)
        return se_fail(error, "--profile=: a value is missing; see onnx_run --help");
    if (o->labels && !o->top) return se_fail(error, "--labels %s: --top K is needed, too", o->labels);
    if (!o->pool) o->pool = pool_default();
    return pool_check(o->pool, error);
}

const char *options_find(const list_t *list, const char *name) {
    for (int i = 0; i < list->n; ++i)
        if (list->entry[i].name && !strcmp(list->entry[i].name, name)) return list->entry[i].path;
    return NULL;
}
