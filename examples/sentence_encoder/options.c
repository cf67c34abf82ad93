/* See options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

const char se_help_text[] =
    "Sentence embeddings from a BERT model, computed by dnnl_tp on this program's own threads.\n"
    "\n"
    "  sentence_encoder embed    --model DIR --input FILE --output FILE.npy [options]\n"
    "      one unit-length embedding a line of FILE (UTF-8), as a NumPy matrix\n"
    "  sentence_encoder search   --model DIR --input FILE --query TEXT [--top K] [options]\n"
    "      the K lines of FILE whose meaning is nearest: cosine, line number, text; no blank ones\n"
    "  sentence_encoder search   --model DIR --embeddings FILE.npy [--input FILE] --query TEXT [--top K] "
    "[options]\n"
    "      the same over what embed wrote; without --input, the numbers only\n"
    "  sentence_encoder tokenize --model DIR --input FILE [--output FILE] [--errors MODE] [--strict]\n"
    "      the token ids of each line\n"
    "  sentence_encoder bench    --model DIR --batch B --tokens S [--ids FILE.npy]\n"
    "                            [--seconds X | --fresh N | --step] [options]\n"
    "      times runs of B x S tokens; --fresh: the first and second run of N new executables; --step is\n"
    "      driven over standard input by benchdnn/models/compare\n"
    "\n"
    "  --engine WHERE  cpu (default) or gpu: the first NVIDIA GPU, which takes neither --threads nor --pool\n"
    "  --threads N     threads that compute at once (default: the processors this process may use)\n"
    "  --pool KIND     own (a pthread pool in this program, default), builtin (the library's), none\n"
    "  --batch N       lines in one run, 1..256 (default 32; bench: sequences)\n"
    "  --clients C     threads that call the library at once on the one pool, 1..64 (default 1)\n"
    "  --bf16          values between operators, and weights, in bf16; what that means here is said on "
    "standard error\n"
    "  --top K         lines to print (default 5)\n"
    "  --profile FILE  what ran when: a trace for https://ui.perfetto.dev, or FILE.txt, FILE.folded\n"
    "  --errors MODE   lines that are not UTF-8: strict (the program fails, default), replace (U+FFFD for "
    "what is\n"
    "                  wrong), skip (left out, and so are lines over 1 MiB)\n"
    "  --strict        refuse lines that are longer than the model reads, instead of truncating them\n"
    "  --quiet         no progress, no counts\n"
    "  --version       the versions of this program and of the library\n"
    "  --help          this text\n"
    "\n"
    "FILE may be \"-\": standard input, or standard output. Regular files appear when they are complete; "
    "links are\n"
    "followed; devices and pipes are written through. An output that is also an input is refused.\n"
    "Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage, 130 interrupted.\n";

enum {
    MAX_THREADS = 256,
    MAX_CLIENTS = 64,
    MAX_BATCH = 256,
    MAX_TOKENS = 65536,
    MAX_TOP = 1000000,
    MAX_FRESH = 1000
};
enum { DEFAULT_BATCH = 32, DEFAULT_TOP = 5, DEFAULT_TOKENS = 32 };

static int parse_int(const char *name, const char *text, int max, int *value, se_error_t *error) {
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno || end == text || *end || v < 1 || v > max)
        return se_fail(error, "--%s %s: an integer in 1..%d is needed", name, text, max);
    *value = (int)v;
    return 0;
}

/* The place of the text among n names, or -1. */
static int find_name(const char *text, const char *const *names, int n) {
    for (int i = 0; i < n; ++i)
        if (!strcmp(text, names[i])) return i;
    return -1;
}

static int parse_engine(const char *text, int *gpu, se_error_t *error) {
    static const char *const names[] = {"cpu", "gpu"};
    *gpu = find_name(text, names, 2);
    return *gpu < 0 ? se_fail(error, "--engine %s: cpu or gpu is needed", text) : 0;
}

static int parse_pool(const char *text, se_pool_kind_t *pool, se_error_t *error) {
    static const char *const names[] = {"own", "builtin", "none"};
    int i = find_name(text, names, 3);
    *pool = (se_pool_kind_t)i;
    return i < 0 ? se_fail(error, "--pool %s: own, builtin or none is needed", text) : 0;
}

static int parse_errors(const char *text, se_errors_t *errors, se_error_t *error) {
    static const char *const names[] = {"strict", "replace", "skip"};
    int i = find_name(text, names, 3);
    *errors = (se_errors_t)i;
    return i < 0 ? se_fail(error, "--errors %s: strict, replace or skip is needed", text) : 0;
}

static const char *const commands[] = {"help", "version", "embed", "search", "tokenize", "bench"};
enum { NUM_COMMANDS = sizeof commands / sizeof *commands };

static int parse_command(const char *text, se_command_t *command, se_error_t *error) {
    int i = find_name(text, commands, NUM_COMMANDS);
    *command = (se_command_t)i;
    return i < 0 ? se_fail(error, "unknown command '%s'; see sentence_encoder --help", text) : 0;
}

static int require(const char *value, const char *name, se_error_t *error) {
    return value ? 0 : se_fail(error, "--%s is missing; see sentence_encoder --help", name);
}

int se_options_parse(se_options_t *o, int argc, char **argv, se_error_t *error) {
    enum {
        MODEL,
        INPUT,
        OUTPUT,
        EMBEDDINGS,
        QUERY,
        PROFILE,
        IDS,
        THREADS,
        CLIENTS,
        BATCH,
        TOKENS,
        TOP,
        POOL,
        ENGINE,
        ERRORS,
        SECONDS,
        STRICT,
        QUIET,
        STEP,
        FRESH,
        BF16,
        HELP,
        VERSION
    };
    static const struct option table[] = {{"model", 1, NULL, MODEL},     {"input", 1, NULL, INPUT},
                                          {"output", 1, NULL, OUTPUT},   {"embeddings", 1, NULL, EMBEDDINGS},
                                          {"query", 1, NULL, QUERY},     {"profile", 1, NULL, PROFILE},
                                          {"ids", 1, NULL, IDS},         {"threads", 1, NULL, THREADS},
                                          {"clients", 1, NULL, CLIENTS}, {"batch", 1, NULL, BATCH},
                                          {"tokens", 1, NULL, TOKENS},   {"top", 1, NULL, TOP},
                                          {"pool", 1, NULL, POOL},       {"engine", 1, NULL, ENGINE},
                                          {"errors", 1, NULL, ERRORS},   {"seconds", 1, NULL, SECONDS},
                                          {"strict", 0, NULL, STRICT},   {"quiet", 0, NULL, QUIET},
                                          {"step", 0, NULL, STEP},       {"fresh", 1, NULL, FRESH},
                                          {"bf16", 0, NULL, BF16},       {"help", 0, NULL, HELP},
                                          {"version", 0, NULL, VERSION}, {0}};
    /* What a command has no use for is a mistake of the user. */
    enum { E = 1 << SE_EMBED, S = 1 << SE_SEARCH, T = 1 << SE_TOKENIZE, B = 1 << SE_BENCH };
    static const unsigned users[] = {[MODEL] = E | S | T | B,
                                     [INPUT] = E | S | T,
                                     [OUTPUT] = E | T,
                                     [EMBEDDINGS] = S,
                                     [QUERY] = S,
                                     [PROFILE] = E | S | B,
                                     [IDS] = B,
                                     [THREADS] = E | S | B,
                                     [CLIENTS] = E | S | B,
                                     [BATCH] = E | S | B,
                                     [TOKENS] = B,
                                     [TOP] = S,
                                     [POOL] = E | S | B,
                                     [ENGINE] = E | S | B,
                                     [ERRORS] = E | S | T,
                                     [SECONDS] = B,
                                     [STRICT] = E | S | T,
                                     [QUIET] = E | S | T | B,
                                     [STEP] = B,
                                     [FRESH] = B,
                                     [BF16] = E | S | B};
    unsigned used = 0;
    cpu_set_t cpus;
    int online = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : CPU_COUNT(&cpus);
    *o = (se_options_t){.clients = 1,
                        .batch = DEFAULT_BATCH,
                        .tokens = DEFAULT_TOKENS,
                        .top = DEFAULT_TOP,
                        .seconds = 2,
                        .pool = DNNL_TP_WITH_THREADPOOL ? SE_POOL_OWN : SE_POOL_NONE};
    o->threads = online < 1 ? 1 : online > MAX_THREADS ? MAX_THREADS : online;
    opterr = 0;
    optind = 1;
    int status = 0;
    for (int index = 0, c; !status && (c = getopt_long(argc, argv, "h", table, &index)) != -1;) {
        const char *name = c == '?' || c == 'h' ? "" : table[index].name;
        if (c != '?' && c != 'h') used |= 1u << c;
        switch (c) {
        case MODEL: o->model = optarg; break;
        case INPUT: o->input = optarg; break;
        case OUTPUT: o->output = optarg; break;
        case EMBEDDINGS: o->embeddings = optarg; break;
        case QUERY: o->query = optarg; break;
        case PROFILE: o->profile = optarg; break;
        case IDS: o->ids = optarg; break;
        case THREADS: status = parse_int(name, optarg, MAX_THREADS, &o->threads, error); break;
        case CLIENTS: status = parse_int(name, optarg, MAX_CLIENTS, &o->clients, error); break;
        case BATCH: status = parse_int(name, optarg, MAX_BATCH, &o->batch, error); break;
        case TOKENS: status = parse_int(name, optarg, MAX_TOKENS, &o->tokens, error); break;
        case FRESH: status = parse_int(name, optarg, MAX_FRESH, &o->fresh, error); break;
        case TOP: status = parse_int(name, optarg, MAX_TOP, &o->top, error); break;
        case POOL: status = parse_pool(optarg, &o->pool, error); break;
        case ENGINE: status = parse_engine(optarg, &o->gpu, error); break;
        case ERRORS: status = parse_errors(optarg, &o->errors, error); break;
        case SECONDS:
            o->seconds = strtod(optarg, NULL);
            if (!(o->seconds > 0 && o->seconds <= 86400))
                status = se_fail(error, "--seconds %s: not in 0..86400", optarg);
            break;
        case STRICT: o->strict = 1; break;
        case QUIET: o->quiet = 1; break;
        case STEP: o->step = 1; break;
        case BF16: o->bf16 = 1; break;
        case VERSION: o->command = SE_VERSION; return 0;
        case HELP:
        case 'h': o->command = SE_HELP; return 0;
        default:
            return se_fail(error, "unknown or incomplete option '%s'; see sentence_encoder --help",
                           argv[optind - 1]);
        }
    }
    if (status) return status;
    if (argc - optind != 1) return se_fail(error, "one command is needed; see sentence_encoder --help");
    if (parse_command(argv[optind], &o->command, error)) return -1;
    if (o->command == SE_HELP || o->command == SE_VERSION) return 0;
    for (int i = 0; i < HELP; ++i)
        if (used & 1u << i && !(users[i] & 1u << o->command))
            return se_fail(error, "%s has no use for --%s; see sentence_encoder --help", commands[o->command],
                           table[i].name);
    if (o->gpu) {
        if (used & (1u << THREADS | 1u << POOL))
            return se_fail(error, "--%s is for the CPU, --engine gpu has no use for it",
                           used & 1u << POOL ? "pool" : "threads");
        o->threads = 0;
        o->pool = SE_POOL_NONE;
    }
    if (require(o->model, "model", error)) return -1;
    if (o->command == SE_EMBED || o->command == SE_TOKENIZE || (o->command == SE_SEARCH && !o->embeddings))
        if (require(o->input, "input", error)) return -1;
    if (o->command == SE_EMBED && require(o->output, "output", error)) return -1;
    if (o->command == SE_SEARCH && require(o->query, "query", error)) return -1;
    if (!o->output && o->command == SE_TOKENIZE) o->output = "-";
    return 0;
}
