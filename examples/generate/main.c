/* generate: text token by token from an ONNX decoder with a cache of keys and values, for one client or several at once.
 * doc/howto/generate_text.md explains it. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "decoder.h"
#include "sample.h"

enum { MOST_CLIENTS = 64, MOST_PROMPT = 4096 };

static const char help[] =
    "generate MODEL [options]: continues a prompt of tokens with an ONNX decoder that has a cache of keys "
    "and values\n"
    "  --prompt LIST      tokens, such as 5,17,200; by default 1\n"
    "  --tokens N         how many to generate, by default 64; at most 1048576\n"
    "  --temperature T    0, the default, takes the most likely token\n"
    "  --top-k K          only the K most likely tokens; 0, the default, all\n"
    "  --top-p P          only the most likely tokens that together have the probability P; by default 1\n"
    "  --seed N           of the first client, by default 1; each further one has the next\n"
    "  --threads N        of the pool, by default 1; at most 256\n"
    "  --clients N        sequences at once, by default 1; at most 64\n"
    "  --joins            gives the past and takes the present in each run\n"
    "  --recompute        runs all tokens anew for each one\n"
    "  --quiet            no tokens, only the summary\n"
    "Exit status: 0; 1: the model cannot be run, or the output cannot be written; 2: wrong options\n";

typedef struct {
    const char *model;
    int64_t prompt[MOST_PROMPT];
    int64_t nprompt, tokens;
    sampling_t sampling;
    int64_t seed, threads, clients;
    bool joins, recompute, quiet;
} options_t;

typedef struct {
    const options_t *options;
    const decoder_t *decoder;
    int number;
    pthread_barrier_t *begin;
    int64_t *tokens;
    double first_ms, all_ms;
    dnnl_tp_onnx_state_info_t info;
    bool failed;
} client_t;

static double now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- Options ------------------------------------------------------------------------------------------------ */

static bool read_whole(const char *name, const char *text, int64_t least, int64_t most, int64_t *x) {
    char *end;
    errno = 0;
    *x = strtoll(text, &end, 10);
    if (*text && !*end && !errno && *x >= least && *x <= most) return true;
    fprintf(stderr, "generate: %s is a whole number of %lld to %lld, not '%s'\n", name, (long long)least,
            (long long)most, text);
    return false;
}

static bool read_number(const char *name, const char *text, double most, double *x) {
    char *end;
    *x = strtod(text, &end);
    if (*text && !*end && *x >= 0 && *x <= most) return true;
    fprintf(stderr, "generate: %s is a number of 0 to %g, not '%s'\n", name, most, text);
    return false;
}

static bool read_prompt(options_t *o, const char *text) {
    const char *at = text;
    for (o->nprompt = 0;; ++at) {
        char *end;
        errno = 0;
        const int64_t token = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ',') || errno || token < 0 || o->nprompt == MOST_PROMPT) break;
        o->prompt[o->nprompt++] = token;
        if (!*end) return true;
        at = end;
    }
    fprintf(stderr, "generate: --prompt is a list of 1 to %d tokens, such as 5,17,200, not '%s'\n",
            MOST_PROMPT, text);
    return false;
}

static bool read_option(options_t *o, const char *name, const char *value) {
    const struct {
        const char *name;
        int64_t least, most, *to;
    } whole[] = {{"--tokens", 1, 1 << 20, &o->tokens},
                 {"--top-k", 0, INT32_MAX, &o->sampling.top_k},
                 {"--seed", 0, INT64_MAX, &o->seed},
                 {"--threads", 1, 256, &o->threads},
                 {"--clients", 1, MOST_CLIENTS, &o->clients}};
    const char *given = value ? value : "";
    if (!strcmp(name, "--prompt")) return read_prompt(o, given);
    if (!strcmp(name, "--temperature")) return read_number(name, given, 1e6, &o->sampling.temperature);
    if (!strcmp(name, "--top-p")) return read_number(name, given, 1, &o->sampling.top_p);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; ++i)
        if (!strcmp(name, whole[i].name))
            return read_whole(name, given, whole[i].least, whole[i].most, whole[i].to);
    fprintf(stderr, "generate: there is no option '%s'; --help tells the options\n", name);
    return false;
}

static bool read_options(options_t *o, int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i];
        if (!strcmp(a, "--joins")) o->joins = true;
        else if (!strcmp(a, "--recompute")) o->recompute = true;
        else if (!strcmp(a, "--quiet")) o->quiet = true;
        else if (*a == '-') {
            if (!read_option(o, a, argv[++i])) return false;
        } else if (o->model) {
            fprintf(stderr, "generate: two models are given, '%s' and '%s'\n", o->model, a);
            return false;
        } else o->model = a;
    }
    if (!o->model) fprintf(stderr, "generate: no model is given; --help tells the options\n");
    return o->model != NULL;
}

/* ---- Clients ------------------------------------------------------------------------------------------------- */

/* The logits behind what there is: of the new tokens alone, or of all of them. */
static const float *logits_of(const client_t *c, sequence_t *s, const int64_t *all, int64_t n) {
    if (!c->options->recompute) return sequence_step(s, all + s->length, n - s->length);
    return sequence_clear(s) ? sequence_step(s, all, n) : NULL;
}

static bool generate(client_t *c, sequence_t *s, sampler_t *sampler) {
    const options_t *o = c->options;
    int64_t n = o->nprompt;
    memcpy(c->tokens, o->prompt, (size_t)n * sizeof *c->tokens);
    const double begin = now_ms();
    for (int64_t i = 0; i < o->tokens; ++i) {
        const float *logits = logits_of(c, s, c->tokens, n);
        if (!logits) return false;
        if (!i &&
            !sampler_begin(sampler, &o->sampling, (uint64_t)o->seed + (uint64_t)c->number, s->vocabulary)) {
            fprintf(stderr, "generate: there is no memory for the choice of tokens\n");
            return false;
        }
        c->tokens[n++] = sampler_choose(sampler, logits);
        if (!i) c->first_ms = now_ms() - begin;
        if (!o->quiet && o->clients == 1) {
            printf("%lld%c", (long long)c->tokens[n - 1], i + 1 < o->tokens ? ' ' : '\n');
            fflush(stdout);
        }
    }
    c->all_ms = now_ms() - begin;
    return true;
}

static void *client(void *arg) {
    client_t *c = arg;
    sequence_t s;
    sampler_t sampler = {.n = 0};
    c->failed = !sequence_begin(&s, c->decoder, c->options->nprompt + c->options->tokens, c->options->joins);
    (void)pthread_barrier_wait(c->begin);
    if (!c->failed) c->failed = !generate(c, &s, &sampler);
    c->info.struct_size = sizeof c->info;
    if (!c->failed) c->failed = dnnl_tp_onnx_state_query(s.state, &c->info) != dnnl_tp_success;
    sampler_end(&sampler);
    sequence_end(&s);
    return NULL;
}

static void report(const options_t *o, const client_t *clients, double open_ms, double ms) {
    struct rusage use;
    double first = 0, decode = 0;
    size_t bytes = 0;
    uint64_t runs = 0, in_place = 0;
    for (int i = 0; i < o->clients; ++i) {
        const client_t *c = &clients[i];
        first = fmax(first, c->first_ms);
        decode = fmax(decode, c->all_ms - c->first_ms);
        bytes += c->info.bytes;
        runs += c->info.runs;
        in_place += c->info.in_place;
        if (o->quiet || o->clients == 1) continue;
        printf("client %d:", i);
        for (int64_t k = 0; k < o->tokens; ++k) printf(" %lld", (long long)c->tokens[o->nprompt + k]);
        printf("\n");
    }
    (void)getrusage(RUSAGE_SELF, &use);
    const double later = (double)(o->tokens - 1);
    fprintf(stderr, "clients %lld, threads %lld: opened in %.2f ms, first token %.2f ms, ",
            (long long)o->clients, (long long)o->threads, open_ms, first);
    if (later > 0 && decode > 0)
        fprintf(stderr, "then %.1f tokens/s (%.3f ms a token of each client), ",
                (double)o->clients * later * 1e3 / decode, decode / later);
    fprintf(stderr, "%.0f ms\n", ms);
    fprintf(stderr, "%llu of %llu runs left the past in its place; states %.2f MB, process %.1f MB\n",
            (unsigned long long)in_place, (unsigned long long)runs, (double)bytes / 1e6,
            (double)use.ru_maxrss / 1e3);
}

/* Whether all that was printed went out. */
static bool is_written(bool good) {
    good = !fflush(stdout) && !ferror(stdout) && good;
    if (!good) fprintf(stderr, "generate: the output cannot be written\n");
    return good;
}

int main(int argc, char **argv) {
    options_t o = {.prompt = {1},
                   .nprompt = 1,
                   .tokens = 64,
                   .threads = 1,
                   .clients = 1,
                   .seed = 1,
                   .sampling = {.top_p = 1}};
    for (int i = 1; i < argc; ++i)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return !is_written(fputs(help, stdout) >= 0);
    if (!read_options(&o, argc, argv)) return 2;
    decoder_t d;
    const double begin_ms = now_ms();
    if (!decoder_open(&d, o.model, (int)o.threads)) {
        decoder_close(&d);
        return 1;
    }
    client_t clients[MOST_CLIENTS];
    pthread_t threads[MOST_CLIENTS];
    pthread_barrier_t begin;
    (void)pthread_barrier_init(&begin, NULL, (unsigned)o.clients);
    const double start = now_ms(), open_ms = start - begin_ms;
    bool failed = false;
    for (int i = 0; i < o.clients; ++i) {
        clients[i] = (client_t){.options = &o, .decoder = &d, .number = i, .begin = &begin};
        clients[i].tokens = malloc((size_t)(o.nprompt + o.tokens) * sizeof *clients[i].tokens);
        if (!clients[i].tokens || (i && pthread_create(&threads[i], NULL, client, &clients[i]))) {
            fprintf(stderr, "generate: there is no memory, or no thread, for client %d\n", i);
            exit(1);
        }
    }
    (void)client(&clients[0]);
    for (int i = 0; i < o.clients; ++i) {
        if (i) (void)pthread_join(threads[i], NULL);
        failed |= clients[i].failed;
    }
    if (!failed) report(&o, clients, open_ms, now_ms() - start);
    failed |= !is_written(true);
    for (int i = 0; i < o.clients; ++i) free(clients[i].tokens);
    (void)pthread_barrier_destroy(&begin);
    decoder_close(&d);
    return failed;
}
