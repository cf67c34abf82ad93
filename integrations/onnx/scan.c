/* The look through a message before it is parsed, see scan.h. It walks the same descriptors as protobuf-c. */
#include "onnx/scan.h"

#include "onnx/text.h"

#include <string.h>

/* Fields that Debian's onnx.proto (IR 8) does not have: what is known of them. All others are refused, because a file whose
 * meaning depends on them would be misread. */
static const struct {
    const char *message;
    uint32_t field;
} known_fields[] = {
    {"NodeProto", 8},      /* overload: function.c reads it */
    {"NodeProto", 9},      /* metadata_props */
    {"FunctionProto", 11}, /* attribute_proto: functions that have it are refused */
    {"FunctionProto", 12}, /* value_info: shapes are inferred */
    {"FunctionProto", 13}, /* overload */
    {"FunctionProto", 14}, /* metadata_props */
    {"GraphProto", 16},    /* metadata_props */
    {"TensorProto", 16},   /* metadata_props */
    {"ValueInfoProto", 4}, /* metadata_props */
};

enum {
    MAX_TAG_BYTES = 5,
    MAX_VARINT_BYTES = 10,
    MAX_FIELD = (1 << 29) - 1,
    BITS_OF_TYPE = 3,
    /* What protobuf-c notes of a field while it parses, twice because its lists double; what an allocation costs. */
    NOTE_BYTES = 96,
    ALLOC_BYTES = 32,
    POINTER_BYTES = 2 * sizeof(void *)
};
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

typedef struct {
    const uint8_t *begin; /* of the file, for offsets in texts */
    uint64_t bytes, max_bytes;
} scan_t;

static dnnl_tp_status_t refuse(const scan_t *s, const uint8_t *at, const ProtobufCMessageDescriptor *kind,
                               const char *what) {
    return dtp_onnx_fail(dnnl_tp_invalid_graph, "byte %zu, %s: %s", (size_t)(at - s->begin), kind->short_name,
                         what);
}

static const char *field_name(const ProtobufCMessageDescriptor *kind, uint64_t field) {
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(kind, (unsigned)field);
    return f ? f->name : "field";
}

/* Bytes of the varint at p; 0: it does not end before `end`, or is too long. */
static size_t varint(const uint8_t *p, const uint8_t *end, size_t most, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < most && p + i < end; ++i) {
        enum { PAYLOAD = 7, MORE = 0x80 };
        *value |= (uint64_t)(p[i] & (MORE - 1)) << (PAYLOAD * i);
        if (!(p[i] & MORE)) return i + 1;
    }
    return 0;
}

static int wire_of(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return FIXED32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return BYTES;
    default: return VARINT;
    }
}

/* Elements of a packed list; -1: it is cut in the middle of one. */
static int64_t packed_count(const uint8_t *p, size_t size, int wire) {
    enum { FOUR = 4, EIGHT = 8, MORE = 0x80 };
    if (wire == FIXED32) return size % FOUR ? -1 : (int64_t)(size / FOUR);
    if (wire == FIXED64) return size % EIGHT ? -1 : (int64_t)(size / EIGHT);
    int64_t n = 0;
    size_t length = 0;
    for (size_t i = 0; i < size; ++i) {
        if (++length > MAX_VARINT_BYTES) return -1;
        if (p[i] & MORE) continue;
        ++n;
        length = 0;
    }
    return length ? -1 : n;
}

static bool is_known(const ProtobufCMessageDescriptor *kind, uint64_t field) {
    for (size_t i = 0; i < sizeof known_fields / sizeof *known_fields; ++i)
        if (known_fields[i].field == field && !strcmp(known_fields[i].message, kind->short_name)) return true;
    return false;
}

/* Members of one oneof, and a field that is given twice, would be merged; no writer makes such files. */
static bool seen_before(const ProtobufCMessageDescriptor *kind, const ProtobufCFieldDescriptor *f,
                        uint64_t *seen) {
    const unsigned at = (unsigned)(f - kind->fields);
    const bool again = *seen >> at & 1;
    for (unsigned i = 0; i < kind->n_fields; ++i)
        if (i == at || ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
                        (kind->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
                        kind->fields[i].quantifier_offset == f->quantifier_offset))
            *seen |= UINT64_C(1) << i;
    return again;
}

static dnnl_tp_status_t message(scan_t *s, const uint8_t *p, const uint8_t *end,
                                const ProtobufCMessageDescriptor *kind, int depth);

/* The payload of a field: p..p + size. */
static dnnl_tp_status_t payload(scan_t *s, const uint8_t *p, size_t size, int wire,
                                const ProtobufCMessageDescriptor *kind, const ProtobufCFieldDescriptor *f,
                                int depth) {
    const int wanted = wire_of(f->type);
    if (f->label == PROTOBUF_C_LABEL_REPEATED) s->bytes += POINTER_BYTES;
    if (wire == BYTES && wanted != BYTES && f->label == PROTOBUF_C_LABEL_REPEATED) {
        const int64_t n = packed_count(p, size, wanted);
        if (n < 0) return refuse(s, p, kind, "a packed list ends inside of an element");
        s->bytes += (uint64_t)n * (wanted == FIXED32 || f->type == PROTOBUF_C_TYPE_INT32 ? sizeof(int32_t)
                                                                                         : sizeof(int64_t));
        return dnnl_tp_success;
    }
    if (wire != wanted) return refuse(s, p, kind, "a field has another wire type than its kind");
    if (wire != BYTES) return dnnl_tp_success;
    s->bytes += ALLOC_BYTES;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) return message(s, p, p + size, f->descriptor, depth + 1);
    s->bytes += size;
    if (f->type == PROTOBUF_C_TYPE_STRING && size && memchr(p, 0, size))
        return refuse(s, p, kind, "a name contains a zero byte");
    return dnnl_tp_success;
}

static dnnl_tp_status_t message(scan_t *s, const uint8_t *p, const uint8_t *end,
                                const ProtobufCMessageDescriptor *kind, int depth) {
    if (depth > DTP_ONNX_MAX_DEPTH)
        return dtp_onnx_fail(dnnl_tp_invalid_graph, "byte %zu, %s: messages are nested more than %d deep",
                             (size_t)(p - s->begin), kind->short_name, DTP_ONNX_MAX_DEPTH);
    uint64_t seen = 0;
    s->bytes += kind->sizeof_message;
    while (p < end) {
        uint64_t tag, value = 0;
        const uint8_t *const at = p;
        const size_t n = varint(p, end, MAX_TAG_BYTES, &tag);
        const uint64_t field = tag >> BITS_OF_TYPE;
        const int wire = (int)(tag & ((1 << BITS_OF_TYPE) - 1));
        if (!n || field == 0 || field > MAX_FIELD)
            return refuse(s, at, kind, "a tag is cut off or out of range");
        p += n;
        size_t size = wire == FIXED32 ? sizeof(int32_t) : sizeof(int64_t);
        if (wire == VARINT || wire == BYTES) {
            const size_t head = varint(p, end, MAX_VARINT_BYTES, &value);
            if (!head) return refuse(s, at, kind, "a number is cut off or too long");
            if (wire == BYTES) p += head;
            size = wire == BYTES ? (size_t)value : head;
            if (wire == BYTES && value > (uint64_t)(end - p) && depth == 1)
                return dtp_onnx_fail(
                    dnnl_tp_invalid_graph,
                    "cut off at byte %zu: the %s of %llu bytes that begins at byte %zu is not whole",
                    (size_t)(end - s->begin), field_name(kind, field), (unsigned long long)value,
                    (size_t)(p - s->begin));
            if (wire == BYTES && value > (uint64_t)(end - p))
                return refuse(s, at, kind, "a length reaches beyond the end of its message");
        } else if (wire != FIXED32 && wire != FIXED64) {
            return refuse(s, at, kind, "a wire type is not known");
        }
        if (size > (size_t)(end - p)) return refuse(s, at, kind, "a number is cut off");
        s->bytes += NOTE_BYTES;
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(kind, (unsigned)field);
        if (f) {
            if (f->label != PROTOBUF_C_LABEL_REPEATED && seen_before(kind, f, &seen))
                return dtp_onnx_fail(dnnl_tp_invalid_graph, "byte %zu, %s: the field %s is given twice",
                                     (size_t)(at - s->begin), kind->short_name, f->name);
            const dnnl_tp_status_t status = payload(s, p, size, wire, kind, f, depth);
            if (status) return status;
        } else if (is_known(kind, field)) {
            s->bytes += ALLOC_BYTES + size + sizeof(ProtobufCMessageUnknownField);
        } else {
            return dtp_onnx_fail(dnnl_tp_invalid_graph,
                                 "byte %zu, %s: the field with number %llu is not known to this importer",
                                 (size_t)(at - s->begin), kind->short_name, (unsigned long long)field);
        }
        if (s->bytes > s->max_bytes)
            return dtp_onnx_fail(dnnl_tp_invalid_graph, "byte %zu: the message needs more than %llu bytes",
                                 (size_t)(at - s->begin), (unsigned long long)s->max_bytes);
        p += size;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_onnx_scan(const uint8_t *data, size_t size, const ProtobufCMessageDescriptor *kind,
                               uint64_t max_bytes) {
    scan_t s = {.begin = data, .max_bytes = max_bytes};
    if (size > INT32_MAX)
        return dtp_onnx_fail(
            dnnl_tp_invalid_graph,
            "the message has %zu bytes; protobuf allows 2 GiB, larger weights are external data", size);
    return message(&s, data, data + size, kind, 1);
}
