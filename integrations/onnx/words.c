/* The words of a model, see words.h. */
#include "onnx/words.h"

#include <string.h>

const char dtp_words_made[] = "STRING", dtp_words_read[] = "STRING";

static bool is(const char *a, const char *b) { return !strcmp(a, b); }
static const char *text(const char *s) { return s ? s : ""; }

static bool is_one_of(const char *op, const char *const *list) {
    while (*list && !is(*list, op)) ++list;
    return *list != NULL;
}

static bool encodes(const char *domain, const char *op) {
    static const char *const encoders[] = {"CategoryMapper", "LabelEncoder", "OneHotEncoder", NULL};
    return is(domain, "ai.onnx.ml") ? is_one_of(op, encoders) : is(op, "TfIdfVectorizer");
}
static bool reads(const row_t *row) { return encodes(row->domain, row->op); }

/* Does it pass on the elements of input i as they are? */
static bool moves(const row_t *row, int i) {
    static const char *const one[] = {"ArrayFeatureExtractor",
                                      "Expand",
                                      "Flatten",
                                      "Gather",
                                      "Identity",
                                      "Reshape",
                                      "Slice",
                                      "Split",
                                      "Squeeze",
                                      "Tile",
                                      "Transpose",
                                      "Unsqueeze",
                                      NULL};
    return is(row->op, "Concat") || (is(row->op, "Where") && i > 0) || (i == 0 && is_one_of(row->op, one));
}

const char *dtp_words_take(cv_t *cv) {
    const char *words = NULL;
    int given = 0, taken = 0;
    if (reads(cv->row)) return NULL;
    for (int i = 0; i < cv->nin && !cv->status; ++i) {
        given += cv->in[i] && moves(cv->row, i);
        if (!dtp_words_is(cv->in[i])) continue;
        if (!moves(cv->row, i))
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input %d is STRING, which encoders read", i);
        if (words != dtp_words_read) words = cv->in[i]->stored;
        val_t *plain = dtp_cv_alloc(cv, sizeof *plain);
        if (!plain) return NULL;
        *plain = *cv->in[i];
        plain->stored = NULL;
        cv->in[i] = plain;
        ++taken;
    }
    if (taken && taken < given) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its inputs are texts in part");
    return words;
}

void dtp_words_give(cv_t *cv, const char *words) {
    for (int i = 0; words && i < cv->nout && !cv->status; ++i) {
        val_t *v = cv->out[i] ? dtp_cv_alloc(cv, sizeof *v) : NULL;
        if (!v) continue;
        *v = *cv->out[i];
        v->stored = words;
        cv->out[i] = v;
    }
}

bool dtp_words_has(const node_proto_t *n, const attr_proto_t *a) {
    return encodes(text(n->domain), text(n->op_type)) &&
           (a->n_strings || a->s.len || is(text(a->name), "default_string") ||
            (a->t && a->t->data_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING));
}

/* ---- The table ---------------------------------------------------------------------------------------------- */

typedef ProtobufCBinaryData word_t;

/* The place of a word in the table, or the free one where it belongs. FNV-1a. */
static int64_t *place_of(const_dnnl_tp_onnx_model_t m, const void *data, size_t bytes) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
    for (size_t i = (size_t)(hash ^ hash >> 32);; ++i) {
        int64_t *at = &m->word_places[i & (m->nplaces - 1)];
        if (*at == DTP_NO_WORD) return at;
        const word_t *w = m->words[*at];
        if (w->len == bytes && (!bytes || !memcmp(w->data, data, bytes))) return at;
    }
}

int64_t dtp_words_number(const_dnnl_tp_onnx_model_t m, const void *data, size_t bytes) {
    return m->nplaces ? *place_of(m, data, bytes) : DTP_NO_WORD;
}

/* Adds a word, or counts it while there is no table. */
static void add(dnnl_tp_onnx_model_t m, size_t *count, const word_t *w) {
    ++*count;
    if (!m->nplaces) return;
    int64_t *at = place_of(m, w->data, w->len);
    if (*at != DTP_NO_WORD) return;
    *at = m->nwords;
    m->words[m->nwords++] = w;
}

static void add_nodes(dnnl_tp_onnx_model_t m, size_t *count, size_t n, node_proto_t *const *nodes) {
    /* What an encoder without the attribute makes of a text that it does not have. */
    static uint8_t letters[] = "_Unused";
    static const word_t unused = {.len = sizeof letters - 1, .data = letters};
    for (size_t i = 0; i < n; ++i) {
        const node_proto_t *x = nodes[i];
        for (size_t k = 0; k < x->n_attribute; ++k) {
            const attr_proto_t *a = x->attribute[k];
            if (a->g) add_nodes(m, count, a->g->n_node, a->g->node);
            if (!dtp_words_has(x, a)) continue;
            for (size_t j = 0; j < a->n_strings; ++j) add(m, count, &a->strings[j]);
            for (size_t j = 0; a->t && j < a->t->n_string_data; ++j) add(m, count, &a->t->string_data[j]);
            add(m, count, &a->s);
            add(m, count, &unused);
        }
    }
}

static void add_all(dnnl_tp_onnx_model_t m, size_t *count) {
    const model_proto_t *p = m->proto;
    add_nodes(m, count, p->graph->n_node, p->graph->node);
    for (size_t i = 0; i < p->n_functions; ++i)
        add_nodes(m, count, p->functions[i]->n_node, p->functions[i]->node);
}

dnnl_tp_status_t dtp_words_find(dnnl_tp_onnx_model_t m) {
    size_t count = 0, places = 1;
    add_all(m, &count);
    if (!count) return dnnl_tp_success;
    while (places < 2 * count) places *= 2;
    m->word_places = dtp_import_alloc(&m->memory, places * sizeof *m->word_places);
    m->words = dtp_import_alloc(&m->memory, count * sizeof *m->words);
    if (!m->word_places || !m->words) return dnnl_tp_out_of_memory;
    for (size_t i = 0; i < places; ++i) m->word_places[i] = DTP_NO_WORD;
    m->nplaces = places;
    add_all(m, &count);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_word(const_dnnl_tp_onnx_model_t model, int64_t number, const char **word,
                                   size_t *bytes) {
    if (!model || !word || !bytes || number < 0 || number >= model->nwords)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument, or the model has no word %lld",
                             (long long)number);
    *word = model->words[number]->len ? (const char *)model->words[number]->data : "";
    *bytes = model->words[number]->len;
    return dnnl_tp_success;
}
