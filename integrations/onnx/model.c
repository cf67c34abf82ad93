/* What models are, and what they say of themselves. */
#include "onnx/model.h"

#include <string.h>
#include <sys/mman.h>

static void *proto_alloc(void *ctx, size_t size) {
    (void)ctx;
    const dnnl_tp_allocator_t *a = dnnl_tp_get_allocator();
    return a->alloc(a->ctx, size ? size : 1, _Alignof(max_align_t));
}
static void proto_free(void *ctx, void *p) {
    (void)ctx;
    const dnnl_tp_allocator_t *a = dnnl_tp_get_allocator();
    if (p) a->free(a->ctx, p);
}
const ProtobufCAllocator dtp_onnx_allocator = {.alloc = proto_alloc, .free = proto_free};

void dtp_onnx_model_ref(dnnl_tp_onnx_model_t model) {
    (void)atomic_fetch_add_explicit(&model->refs, 1, memory_order_relaxed);
}

void dtp_onnx_model_unref(void *arg) {
    dnnl_tp_onnx_model_t m = arg;
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    if (m->proto) dtp_onnx__model_proto__free_unpacked(m->proto, &m->allocator);
    for (dtp_onnx_file_t *f = m->files; f; f = f->next)
        if (f->data) (void)munmap((void *)(uintptr_t)f->data, f->size);
    dtp_import_memory_free(&m->memory);
    dtp_onnx_counter_t *c = atomic_load_explicit(&m->counters, memory_order_relaxed);
    while (c) {
        dtp_onnx_counter_t *next = c->next;
        proto_free(NULL, c);
        c = next;
    }
    proto_free(NULL, m);
}

dtp_onnx_counter_t *dtp_onnx_counter(dnnl_tp_onnx_model_t m, uint64_t place) {
    dtp_onnx_counter_t *first = atomic_load_explicit(&m->counters, memory_order_acquire), *mine = NULL;
    for (;;) {
        for (dtp_onnx_counter_t *c = first; c; c = c->next)
            if (c->place == place) {
                proto_free(NULL, mine);
                return c;
            }
        if (!mine && !(mine = proto_alloc(NULL, sizeof *mine))) return NULL;
        *mine = (dtp_onnx_counter_t){.next = first, .place = place};
        if (atomic_compare_exchange_weak_explicit(&m->counters, &first, mine, memory_order_acq_rel,
                                                  memory_order_acquire))
            return mine;
    }
}

dnnl_tp_status_t dnnl_tp_onnx_close(dnnl_tp_onnx_model_t model) {
    if (model) dtp_onnx_model_unref(model);
    return dnnl_tp_success;
}

const char *dtp_onnx_domain(const char *domain) { return domain && strcmp(domain, "ai.onnx") ? domain : ""; }

int64_t dtp_onnx_opset(size_t n, opset_proto_t *const *imports, const char *domain) {
    for (size_t i = 0; i < n; ++i)
        if (!strcmp(dtp_onnx_domain(imports[i]->domain), domain)) return imports[i]->version;
    /* Optimisers write operators of this domain into models that do not import it. */
    return !strcmp(domain, "com.microsoft");
}

dnnl_tp_status_t dtp_onnx_port(const value_proto_t *value, dnnl_tp_onnx_port_t *port) {
    *port = (dnnl_tp_onnx_port_t){.name = value->name ? value->name : "", .info.ndims = -1};
    const DtpOnnx__TypeProto__Tensor *t =
        value->type && value->type->value_case == DTP_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? value->type->tensor_type
            : NULL;
    if (!t) return dnnl_tp_success;
    port->onnx_type = t->elem_type;
    /* Texts are numbers of words (words.h). */
    port->info.data_type = t->elem_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING
                               ? dnnl_tp_s64
                               : dtp_onnx_read_as(t->elem_type);
    if (!t->shape) return dnnl_tp_success;
    if (t->shape->n_dim > DNNL_TP_MAX_NDIMS)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "'%s' has %zu dimensions, at most %d are allowed",
                             port->name, t->shape->n_dim, DNNL_TP_MAX_NDIMS);
    port->info.ndims = (int)t->shape->n_dim;
    int64_t product = 1;
    for (int d = 0; d < port->info.ndims; ++d) {
        const DtpOnnx__TensorShapeProto__Dimension *dim = t->shape->dim[d];
        port->info.dims[d] = DNNL_TP_RUNTIME_DIM_VAL;
        if (dim->value_case == DTP_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            if (dim->dim_value < 0) continue; /* some exporters write an open size so */
            port->info.dims[d] = dim->dim_value;
            if (dim->dim_value > 0 && (__builtin_mul_overflow(product, dim->dim_value, &product) ||
                                       product > INT64_MAX / (int64_t)sizeof(double)))
                return dtp_onnx_fail(dnnl_tp_invalid_graph, "'%s': the dimensions are too large", port->name);
        } else if (dim->value_case == DTP_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                   *dim->dim_param && strcmp(dim->dim_param, "?")) { /* "?": written for any size */
            port->symbols[d] = dim->dim_param;
        }
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_external_file(const_dnnl_tp_onnx_model_t model, int index, const char **path) {
    if (path) *path = NULL;
    if (!model || !path || index < 0)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument, or a negative index");
    const dtp_onnx_file_t *f = model->files;
    for (int i = 0; f && i < index; ++i) f = f->next;
    if (f) *path = f->path;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_query(const_dnnl_tp_onnx_model_t model, dnnl_tp_onnx_model_info_t *info) {
    if (!model || !info || info->struct_size != sizeof *info)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument, or another struct_size");
    const model_proto_t *p = model->proto;
    *info = (dnnl_tp_onnx_model_info_t){.struct_size = sizeof *info,
                                        .ir_version = p->ir_version,
                                        .opset = dtp_onnx_opset(p->n_opset_import, p->opset_import, ""),
                                        .producer = p->producer_name ? p->producer_name : "",
                                        .name = p->graph->name ? p->graph->name : "",
                                        .inputs = (int)p->graph->n_input,
                                        .outputs = (int)p->graph->n_output,
                                        .nodes = (int)p->graph->n_node};
    return dnnl_tp_success;
}

static const char *text(const char *s) { return s ? s : ""; }

dnnl_tp_status_t dnnl_tp_onnx_metadata(const_dnnl_tp_onnx_model_t model, dnnl_tp_onnx_metadata_t *metadata) {
    if (!model || !metadata || metadata->struct_size != sizeof *metadata)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument, or another struct_size");
    const model_proto_t *p = model->proto;
    *metadata = (dnnl_tp_onnx_metadata_t){.struct_size = sizeof *metadata,
                                          .domain = text(p->domain),
                                          .description = text(p->doc_string),
                                          .graph_description = text(p->graph->doc_string),
                                          .has_version = p->has_model_version != 0,
                                          .version = p->has_model_version ? p->model_version : 0,
                                          .properties = (int)p->n_metadata_props};
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_property(const_dnnl_tp_onnx_model_t model, int index, const char **key,
                                       const char **value) {
    if (key) *key = NULL;
    if (value) *value = NULL;
    if (!model || !key || !value || index < 0 || (size_t)index >= model->proto->n_metadata_props)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "no property %d", index);
    *key = text(model->proto->metadata_props[index]->key);
    *value = text(model->proto->metadata_props[index]->value);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_input(const_dnnl_tp_onnx_model_t model, int index, dnnl_tp_onnx_port_t *port) {
    if (!model || !port || index < 0 || (size_t)index >= model->proto->graph->n_input)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "no input %d", index);
    const graph_proto_t *g = model->proto->graph;
    DTP_ONNX_TRY(dtp_onnx_port(g->input[index], port));
    if (model->determines[index]) port->flags |= DNNL_TP_ONNX_DETERMINES_SHAPES;
    if (model->decides[index]) port->flags |= DNNL_TP_ONNX_DECIDES_BRANCHES;
    for (size_t i = 0; i < g->n_initializer; ++i)
        if (g->initializer[i]->name && !strcmp(g->initializer[i]->name, port->name))
            port->flags |= DNNL_TP_ONNX_HAS_DEFAULT;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_output(const_dnnl_tp_onnx_model_t model, int index, dnnl_tp_onnx_port_t *port) {
    if (!model || !port || index < 0 || (size_t)index >= model->proto->graph->n_output)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "no output %d", index);
    return dtp_onnx_port(model->proto->graph->output[index], port);
}

/* Whether a node makes maps, or labels that are texts. */
static bool has_keys(const node_proto_t *n, bool is_text) {
    static const char *const labels[] = {"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"};
    if (strcmp(text(n->domain), "ai.onnx.ml")) return false;
    for (size_t i = 0; is_text && i < sizeof labels / sizeof *labels; ++i)
        if (!strcmp(text(n->op_type), labels[i])) return true;
    return !is_text && !strcmp(text(n->op_type), "ZipMap");
}

/* The attribute with the keys of the maps, or with the texts, that an output of the graph consists of; NULL: it does not. */
static const attr_proto_t *keys_of(const graph_proto_t *g, const value_proto_t *output) {
    dnnl_tp_onnx_port_t port;
    const char *name = text(output->name);
    if (dtp_onnx_port(output, &port)) return NULL;
    const bool is_text = port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
    for (size_t i = g->n_node; i-- > 0;) {
        const node_proto_t *n = g->node[i];
        if (!n->n_output || strcmp(n->output[0], name)) continue;
        if (!strcmp(text(n->op_type), "Identity") && n->n_input == 1) name = n->input[0];
        for (size_t k = 0; has_keys(n, is_text) && k < n->n_attribute; ++k) {
            const attr_proto_t *a = n->attribute[k];
            if (!strncmp(text(a->name), "classlabels_", strlen("classlabels_")) &&
                (a->n_strings || (!is_text && a->n_ints)))
                return a;
        }
    }
    return NULL;
}

dnnl_tp_status_t dnnl_tp_onnx_map_key(const_dnnl_tp_onnx_model_t model, int output, int index,
                                      int64_t *number, const char **key, size_t *bytes) {
    if (!model || !number || !key || !bytes || output < 0 || (size_t)output >= model->proto->graph->n_output)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument, or no output %d", output);
    *number = 0;
    *key = NULL;
    *bytes = 0;
    const graph_proto_t *g = model->proto->graph;
    const attr_proto_t *a = keys_of(g, g->output[output]);
    dnnl_tp_onnx_port_t port;
    DTP_ONNX_TRY(dtp_onnx_port(g->output[output], &port));
    if (!a && port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
        return dnnl_tp_onnx_word(model, index, key, bytes);
    if (!a || index < 0 || (size_t)index >= a->n_ints + a->n_strings)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "output %d has no key %d", output, index);
    if ((size_t)index < a->n_ints) *number = a->ints[index];
    else {
        const ProtobufCBinaryData *s = &a->strings[(size_t)index - a->n_ints];
        *key = s->data ? (const char *)s->data : "";
        *bytes = s->len;
    }
    return dnnl_tp_success;
}
