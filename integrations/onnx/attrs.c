/* Attributes of nodes. An attribute that a converter does not ask for is refused: it may change what the node means. */
#include "onnx/attrs.h"

#include <string.h>

/* Follows references to attributes of the call, inside of functions. NULL: the attribute is absent. */
static const attr_proto_t *resolve(const node_proto_t *node, const scope_t *scope, const char *name) {
    for (size_t i = 0; i < node->n_attribute; ++i) {
        const attr_proto_t *a = node->attribute[i];
        if (!a->name || strcmp(a->name, name)) continue;
        if (!a->ref_attr_name || !*a->ref_attr_name) return a;
        return scope && scope->call ? resolve(scope->call, scope->caller, a->ref_attr_name) : NULL;
    }
    return NULL;
}

static const attr_proto_t *find(cv_t *cv, const char *name, int type) {
    static const char *const names[] = {"undefined", "a number", "an integer", "a text", "a tensor",
                                        "a graph",   "numbers",  "integers",   "texts"};
    if (cv->status) return NULL;
    for (size_t i = 0; i < cv->node->n_attribute; ++i)
        if (cv->node->attribute[i]->name && !strcmp(cv->node->attribute[i]->name, name)) {
            if (cv->attrs_read >> i & 1) continue;
            cv->attrs_read |= UINT64_C(1) << i;
            break;
        }
    const attr_proto_t *a = resolve(cv->node, cv->scope, name);
    if (a && (!a->has_type || (int)a->type != type)) {
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "attribute '%s' is not %s", name, names[type]);
        return NULL;
    }
    return a;
}

bool dtp_cv_has(cv_t *cv, const char *name) { return resolve(cv->node, cv->scope, name) != NULL; }

int64_t dtp_cv_int(cv_t *cv, const char *name, int64_t value) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    return a ? a->i : value;
}

float dtp_cv_float(cv_t *cv, const char *name, float value) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    return a ? a->f : value;
}

const int64_t *dtp_cv_attr_ints(cv_t *cv, const char *name, int64_t *n) {
    static const int64_t none[1];
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    *n = a ? (int64_t)a->n_ints : -1;
    return a && a->n_ints ? a->ints : none;
}

const float *dtp_cv_attr_floats(cv_t *cv, const char *name, int64_t *n) {
    static const float none[1];
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    *n = a ? (int64_t)a->n_floats : -1;
    return a && a->n_floats ? a->floats : none;
}

dnnl_tp_data_type_t dtp_cv_type(cv_t *cv, const char *name, int standard) {
    const int64_t to = dtp_cv_int(cv, name, standard);
    const dnnl_tp_data_type_t type =
        to > 0 && to < INT16_MAX ? dtp_onnx_carried((int)to) : dnnl_tp_data_type_undef;
    if (type == dnnl_tp_data_type_undef)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "the type %s is not carried by graphs",
                    dtp_onnx_type_name((int)(to & INT16_MAX)));
    return type;
}

bool dtp_cv_word(cv_t *cv, const char *name, const char *value, const char *word) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    if (!a) return !strcmp(value, word);
    return a->s.len == strlen(word) && (!a->s.len || !memcmp(a->s.data, word, a->s.len));
}

val_t *dtp_cv_tensor(cv_t *cv, const char *name) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    if (!a || !a->t) return NULL;
    const dtp_onnx_tensor_t *t = dtp_onnx_tensor(cv->im->model, a->t);
    if (t->status) {
        dtp_cv_fail(cv, t->status, "attribute '%s' of type %s: %s", name, dtp_onnx_type_name(t->onnx_type),
                    t->why);
        return NULL;
    }
    val_t *v = dtp_cv_alloc(cv, sizeof *v);
    if (v)
        *v = (val_t){.v = -1,
                     .info = t->info,
                     .data = t->data,
                     .is_borrowed = true,
                     .stored = dtp_onnx_stored(t->onnx_type)};
    return v;
}

graph_proto_t *dtp_cv_graph(cv_t *cv, const char *name) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    if (!cv->status && (!a || !a->g))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no attribute '%s'", name);
    return cv->status ? NULL : a->g;
}

void dtp_cv_all_read(cv_t *cv) {
    int64_t n;
    if (cv->since == 1) (void)dtp_cv_attr_ints(cv, "consumed_inputs", &n); /* a hint where results may lie */
    for (size_t i = 0; i < cv->node->n_attribute && !cv->status; ++i)
        if (!(cv->attrs_read >> i & 1))
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' is not known, or given twice",
                        cv->node->attribute[i]->name ? cv->node->attribute[i]->name : "");
}

const ProtobufCBinaryData *dtp_cv_attr_texts(cv_t *cv, const char *name, int64_t *n) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    *n = a ? (int64_t)a->n_strings : -1;
    return a ? a->strings : NULL;
}

const ProtobufCBinaryData *dtp_cv_attr_bytes(cv_t *cv, const char *name) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    return a ? &a->s : NULL;
}

const ProtobufCBinaryData *dtp_cv_tensor_texts(cv_t *cv, const char *name, int64_t *n) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    const bool is_text = a && a->t && a->t->data_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
    *n = is_text ? (int64_t)a->t->n_string_data : -1;
    return is_text ? a->t->string_data : NULL;
}

const char *dtp_cv_text(cv_t *cv, const char *name, int i) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    if (!a || (size_t)i >= a->n_strings) return NULL;
    char *text = dtp_cv_alloc(cv, a->strings[i].len + 1);
    if (text && a->strings[i].len) memcpy(text, a->strings[i].data, a->strings[i].len);
    return text;
}

const char *dtp_cv_attr_text(cv_t *cv, const char *name) {
    const attr_proto_t *a = find(cv, name, DTP_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    if (!a) return NULL;
    char *text = dtp_cv_alloc(cv, a->s.len + 1);
    if (text && a->s.len) memcpy(text, a->s.data, a->s.len);
    return text;
}
