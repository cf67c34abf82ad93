/* Functions of a model, and the nodes that call them. */
#include "onnx/model.h"

#include <string.h>

enum { OVERLOAD_OF_NODE = 8, OVERLOAD_OF_FUNCTION = 13, DEFAULTS_OF_FUNCTION = 11 };

/* A name of protobuf-c, which may be absent. */
static const char *text(const char *s) { return s ? s : ""; }

/* Text of a field that Debian's onnx.proto does not have, in memory that the caller frees; "": absent. NULL: no text. */
static const char *late_text(dtp_import_memory_t *memory, const ProtobufCMessage *message, const char *name,
                             unsigned number) {
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
    if (f) return text(*(char *const *)(const void *)((const char *)message + f->offset));
    for (unsigned i = 0; i < message->n_unknown_fields; ++i) {
        const ProtobufCMessageUnknownField *u = &message->unknown_fields[i];
        if (u->tag != number) continue;
        /* protobuf-c keeps the length before the bytes; overloads have short names. */
        enum { LONGEST = 127 };
        if (u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED || u->len < 1 || u->data[0] > LONGEST ||
            u->len != 1 + (size_t)u->data[0])
            return NULL;
        char *s = dtp_import_alloc(memory, u->len);
        if (s) memcpy(s, u->data + 1, u->len - 1);
        return s;
    }
    return "";
}

const function_proto_t *dtp_onnx_function(const_dnnl_tp_onnx_model_t m, dtp_import_memory_t *memory,
                                          const node_proto_t *n) {
    const model_proto_t *p = m->proto;
    if (!p->n_functions) return NULL;
    const char *overload = late_text(memory, &n->base, "overload", OVERLOAD_OF_NODE);
    for (size_t i = 0; i < p->n_functions && overload; ++i) {
        const function_proto_t *f = p->functions[i];
        if (strcmp(text(f->name), text(n->op_type)) != 0 ||
            strcmp(dtp_onnx_domain(text(f->domain)), dtp_onnx_domain(text(n->domain))) != 0)
            continue;
        const char *theirs = late_text(memory, &f->base, "overload", OVERLOAD_OF_FUNCTION);
        if (theirs && !strcmp(overload, theirs)) return f;
    }
    return NULL;
}

bool dtp_onnx_has_defaults(const function_proto_t *f) {
    for (unsigned i = 0; i < f->base.n_unknown_fields; ++i)
        if (f->base.unknown_fields[i].tag == DEFAULTS_OF_FUNCTION) return true;
    return protobuf_c_message_descriptor_get_field_by_name(f->base.descriptor, "attribute_proto") != NULL;
}
