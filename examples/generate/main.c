/* generate: text token by token from an ONNX decoder with a cache of keys and values, for one client or several at once.
 * doc/howto/generate_text.md explains it. */
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
    "  --tokens N         how many to generate, by default 64\n"
    "  --temperature T    0, the default, takes the most likely token\n"
    "  --top-k K          only the K most likely tokens; 0, the default, all\n"
    "  --top-p P          only the most likely tokens that together have the probability P; by default 1\n"
    "  --seed N           of the first client, by default 1; each further one has the next\n"
    "  --threads N        of the pool, by default 1\n"
    "  --clients N        sequences at once, by default 1\n"
    "  --joins            gives the past and takes the present in each run\n"
    "  --recompute        runs all tokens anew for each one\n"
    "  --quiet            no tokens, only the summary\n";

typedef struct {
    const char *model;
    int64_t prompt[MOST_PROMPT];
    int64_t nprompt, tokens;
    sampling_t sampling;
    int threads, clients;
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

static bool read_whole(const char *text, long long least, long long most, long long *x) {
    char *end;
    *x = strtoll(text, &end, 10);
    return *text && !*end && *x >= least && *x <= most;
}
static bool read_number(const char *text, double least, double most, double *x) {
    char *end;
    *x = strtod(text, &end);
    return *text && !*end && *x >= least && *x <= most;
}

static bool read_prompt(options_t *o, const char *text) {
    for (o->nprompt = 0; *text; ++o->nprompt) {
        char *end;
        if (o->nprompt == MOST_PROMPT) return false;
        o->prompt[o->nprompt] = strtoll(text, &end, 10);
        if (end == text || (*end && *end != ',')) return false;
        text = *end ? end + 1 : end;
    }
    return o->nprompt > 0;
}

static bool read_option(options_t *o, const char *name, const char *value) {
    long long n;
    bool good = false;
    if (!strcmp(name, "--prompt")) return read_prompt(o, value);
    if (!strcmp(name, "--temperature")) return read_number(value, 0, 1e6, &o->sampling.temperature);
    if (!strcmp(name, "--top-p")) return read_number(value, 0, 1, &o->sampling.top_p);
    if (!strcmp(name, "--tokens") && (good = read_whole(value, 1, 1 << 20, &n))) o->tokens = n;
    if (!strcmp(name, "--top-k") && (good = read_whole(value, 0, 1 << 30, &n))) o->sampling.top_k = (int)n;
    if (!strcmp(name, "--seed") && (good = read_whole(value, 0, INT64_MAX, &n)))
        o->sampling.seed = (uint64_t)n;
    if (!strcmp(name, "--threads") && (good = read_whole(value, 1, 256, &n))) o->threads = (int)n;
    if (!strcmp(name, "--clients") && (good = read_whole(value, 1, MOST_CLIENTS, &n))) o->clients = (int)n;
    return good;
}

static bool read_options(options_t *o, int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i];
        if (strncmp(a, "--", 2)) {
            if (o->model) return false;
            o->model = a;
        } else if (!strcmp(a, "--joins")) o->joins = true;
        else if (!strcmp(a, "--recompute")) o->recompute = true;
        else if (!strcmp(a, "--quiet")) o->quiet = true;
        else if (i + 1 == argc || !read_option(o, a, argv[++i])) {
            fprintf(stderr, "generate: %s: there is no such option, or its value is missing or wrong\n", a);
            return false;
        }
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
        if (!i) {
            sampling_t how = o->sampling;
            how.seed += (uint64_t)c->number;
            if (!sampler_begin(sampler, &how, s->vocabulary)) return false;
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

static void report(const options_t *o, const client_t *clients, double ms) {
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
    const double n = (double)o->clients * (double)(o->tokens - 1);
    fprintf(stderr,
            "%d clients, %d threads: first token %.2f ms, then %.1f tokens/s (%.3f ms a token of each "
            "client), %.0f ms\n",
            o->clients, o->threads, first, decode > 0 ? n * 1e3 / decode : 0,
            o->tokens > 1 ? decode / (double)(o->tokens - 1) : 0, ms);
    fprintf(stderr, "%llu of %llu runs left the past in its place; states %.2f MB, process %.1f MB\n",
            (unsigned long long)in_place, (unsigned long long)runs, (double)bytes / 1e6,
            (double)use.ru_maxrss / 1e3);
}

int main(int argc, char **argv) {
    options_t o = {.prompt = {1},
                   .nprompt = 1,
                   .tokens = 64,
                   .threads = 1,
                   .clients = 1,
                   .sampling = {.top_p = 1, .seed = 1}};
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        fputs(help, stdout);
        return 0;
    }
    if (!read_options(&o, argc, argv)) return 2;
    decoder_t d;
    if (!decoder_open(&d, o.model, o.threads)) {
        decoder_close(&d);
        return 1;
    }
    client_t clients[MOST_CLIENTS];
    pthread_t threads[MOST_CLIENTS];
    pthread_barrier_t begin;
    (void)pthread_barrier_init(&begin, NULL, (unsigned)o.clients);
    const double start = now_ms();
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
    if (!failed) report(&o, clients, now_ms() - start);
    for (int i = 0; i < o.clients; ++i) free(clients[i].tokens);
    (void)pthread_barrier_destroy(&begin);
    decoder_close(&d);
    return failed;
}
