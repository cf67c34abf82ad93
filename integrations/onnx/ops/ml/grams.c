/* TfIdfVectorizer: how often each sequence of a pool (an n-gram) stands in a row. The elements of a gram stand side by side, or
 * with the same number of others between each two of them. */
#include "onnx/ops/ml/ml.h"
#include "onnx/words.h"

typedef struct {
    val_t *x;    /* {N, C}, s64 */
    int64_t c;   /* C */
    val_t *pool; /* {elements}, s64 */
    int64_t skips;
    const int64_t *begin; /* of grams of n elements in the pool: begin[n - 1] .. begin[n] - 1 */
    int64_t most, nindexes;
} grams_t;

/* Reads and checks the attributes. */
static void read_grams(cv_t *cv, grams_t *g) {
    int64_t nints, ntexts, ncounts;
    const int64_t *ints = dtp_cv_attr_ints(cv, "pool_int64s", &nints),
                  *counts = dtp_cv_attr_ints(cv, "ngram_counts", &ncounts);
    const ProtobufCBinaryData *texts = dtp_cv_attr_texts(cv, "pool_strings", &ntexts);
    const int64_t all = ntexts > 0 ? ntexts : nints;
    if (!cv->status && (all < 0 || ncounts < 1 || (ntexts > 0) != dtp_words_is(g->x)))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no pool of the type of its input, or no counts");
    int64_t *begin = dtp_cv_alloc(cv, (size_t)(ncounts > 0 ? ncounts + 1 : 1) * sizeof *begin), grams = 0;
    if (cv->status) return;
    begin[ncounts] = all;
    for (int64_t n = ncounts; n > 0; --n) {
        begin[n - 1] = counts[n - 1];
        if (counts[n - 1] < 0 || counts[n - 1] > begin[n] || (begin[n] - counts[n - 1]) % n)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its pool has no whole number of sequences of %lld",
                        (long long)n);
        grams += (begin[n] - counts[n - 1]) / n;
    }
    if (!cv->status && (begin[0] || grams != g->nindexes))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld indexes, its pool %lld sequences",
                    (long long)g->nindexes, (long long)grams);
    g->pool = ntexts > 0 ? dtp_ml_words(cv, all, texts) : dtp_cv_list(cv, all, ints);
    g->begin = begin;
    g->most = ncounts;
}

/* How often each gram of n elements stands in each row, {N, grams} of f32; NULL: rows are too short. */
static val_t *count(cv_t *cv, const grams_t *g, int64_t n) {
    const int64_t size = g->begin[n] - g->begin[n - 1], grams[] = {size / n, n}, axis = 1;
    val_t *table = dtp_cv_reshape(cv, dtp_cv_part(cv, g->pool, 0, g->begin[n - 1], size), 2, grams);
    val_t *sum = NULL;
    /* One element has no others between its parts. */
    for (int64_t step = 1; step <= (n > 1 ? g->skips + 1 : 1) && !cv->status; ++step) {
        const int64_t places = g->c - (n - 1) * step;
        if (places < 1) break;
        val_t *here = NULL;
        for (int64_t i = 0; i < n && !cv->status; ++i) {
            val_t *x = dtp_cv_unsqueeze(cv, dtp_cv_part(cv, g->x, 1, i * step, places), 0, 1);
            val_t *key = dtp_cv_reshape(cv, dtp_cv_part(cv, table, 1, i, 1), 1, grams);
            if (cv->status) return NULL;
            val_t *is = dtp_cv_binary(cv, dnnl_tp_op_equal, x, key);
            here = here ? dtp_cv_binary(cv, dnnl_tp_op_logical_and, here, is) : is;
        }
        if (cv->status) return NULL;
        val_t *found =
            dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, dtp_cv_typed(cv, here, dnnl_tp_f32), 1, &axis, false);
        sum = sum ? dtp_cv_binary(cv, dnnl_tp_op_add, sum, found) : found;
    }
    return sum;
}

void dtp_onnx_tf_idf(cv_t *cv) {
    enum { MOST = INT16_MAX };
    val_t *x = cv->in[0];
    const int rank = x->info.ndims;
    int64_t nindexes, nweights, width = 0;
    const int64_t *indexes = dtp_cv_attr_ints(cv, "ngram_indexes", &nindexes),
                  least = dtp_cv_int(cv, "min_gram_length", 0), most = dtp_cv_int(cv, "max_gram_length", 0);
    const float *weights = dtp_cv_attr_floats(cv, "weights", &nweights);
    grams_t g = {.x = x, .skips = dtp_cv_int(cv, "max_skip_count", 0), .nindexes = nindexes};
    const bool is_idf = dtp_cv_word(cv, "mode", "", "IDF"), is_tf = dtp_cv_word(cv, "mode", "", "TF");
    if (!is_idf && !is_tf && !dtp_cv_word(cv, "mode", "", "TFIDF"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'mode' is not known");
    if (rank < 1 || rank > 2)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input has %d dimensions, 1 and 2 are implemented", rank);
    if (!cv->status && (least < 1 || most < least || most > MOST || g.skips < 0 || g.skips > MOST))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its lengths or skips are out of range");
    if (!cv->status) read_grams(cv, &g);
    for (int64_t i = 0; i < nindexes && !cv->status; ++i) {
        if (indexes[i] < 0 || indexes[i] > INT32_MAX)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has the index %lld", (long long)indexes[i]);
        width = indexes[i] >= width ? indexes[i] + 1 : width;
    }
    const int64_t rows = rank == 2 ? dtp_cv_dim(cv, x, 0) : 1;
    g.c = dtp_cv_dim(cv, x, rank - 1);
    if (!cv->status && nweights > 0 && nweights != nindexes)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld weights, needed are %lld", (long long)nweights,
                    (long long)nindexes);
    if (cv->status) return;
    const int64_t flat[] = {rows, g.c}, column[] = {rows, 1};
    g.x = dtp_cv_typed(cv, dtp_cv_reshape(cv, x, 2, flat), dnnl_tp_s64);
    /* What is counted, and a column of zeros; where the column of each index stands. */
    val_t **parts = dtp_cv_alloc(cv, (size_t)(g.most + 1) * sizeof *parts);
    void *p, *q;
    val_t *places = dtp_cv_room(cv, dnnl_tp_s64, 1, &width, &p),
          *weight = dtp_cv_room(cv, dnnl_tp_f32, 1, &width, &q);
    if (cv->status) return;
    int64_t *place = p, gram = 0, at = 1;
    int nparts = 1;
    parts[0] = dtp_cv_fill(cv, dnnl_tp_f32, 2, column, 0);
    memset(place, 0, (size_t)width * sizeof *place);
    memset(q, 0, (size_t)width * sizeof *weights);
    for (int64_t i = 0; i < nweights; ++i) ((float *)q)[indexes[i]] = weights[i];
    for (int64_t n = 1; n <= g.most && !cv->status; ++n) {
        const int64_t grams = (g.begin[n] - g.begin[n - 1]) / n;
        val_t *counts = n < least || n > most || !grams ? NULL : count(cv, &g, n);
        for (int64_t i = 0; counts && i < grams; ++i) {
            int64_t *to = &place[indexes[gram + i]];
            if (*to) dtp_cv_fail(cv, dnnl_tp_unimplemented, "two sequences have the same index");
            *to = at++;
        }
        if (counts) parts[nparts++] = counts;
        gram += grams;
    }
    val_t *y = cv->status ? NULL : dtp_cv_take(cv, dtp_cv_concat(cv, 1, nparts, parts), 1, places);
    if (is_idf && !cv->status)
        y = dtp_cv_typed(cv, dtp_cv_binary(cv, dnnl_tp_op_greater, y, dtp_ml_number(cv, 0)), dnnl_tp_f32);
    if (!is_tf && nweights > 0 && !cv->status) y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, weight);
    const int64_t result[] = {rank == 2 ? rows : width, width};
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_reshape(dtp_cv_last(cv), y, rank, result));
}
