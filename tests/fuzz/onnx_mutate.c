/* Changes an ONNX file as a message, not as bytes: fields are dropped, repeated, exchanged, copied from elsewhere in the model
 * (so graphs nest and names form cycles), numbers become extreme, names become those of others. libFuzzer calls it, and so does the
 * replay program. Words come from the importer's own table of operators. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/model.h"
#include "onnx/ops/table.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

typedef struct message message_t;
typedef struct {
    unsigned number;
    unsigned wire;
    uint64_t value;       /* of a number */
    const uint8_t *bytes; /* of a text, list or data */
    size_t size;
    message_t *sub; /* of a message; it may stand in several places */
} field_t;
struct message {
    const ProtobufCMessageDescriptor *kind;
    field_t *at;
    int n, room;
};

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { MOST_MESSAGES = 20000, MOST_DEPTH = 90, MOST_TEXTS = 512, ARENA = 8 << 20 };

typedef struct {
    uint64_t random;
    uint8_t *arena;
    size_t used;
    message_t *all[MOST_MESSAGES];
    int n;
    const char *texts[MOST_TEXTS];
    int ntexts;
    uint8_t *out;
    size_t written, room;
} world_t;

static uint64_t next(world_t *w) {
    w->random ^= w->random << 13, w->random ^= w->random >> 7, w->random ^= w->random << 17;
    return w->random * 0x2545f4914f6cdd1dU;
}
static int below(world_t *w, int n) { return n > 0 ? (int)((next(w) >> 33) % (unsigned)n) : 0; }

static void *get(world_t *w, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (size > ARENA - w->used) return NULL;
    void *p = w->arena + w->used;
    w->used += size;
    return memset(p, 0, size);
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static field_t *append(world_t *w, message_t *m) {
    if (m->n == m->room) {
        const int room = m->room ? 2 * m->room : 4;
        field_t *more = get(w, sizeof *more * (size_t)room);
        if (!more) return NULL;
        if (m->n) memcpy(more, m->at, sizeof *more * (size_t)m->n);
        m->at = more;
        m->room = room;
    }
    m->at[m->n] = (field_t){0};
    return &m->at[m->n++];
}

static bool varint(const uint8_t **p, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
        *value |= (uint64_t)(**p & 0x7f) << shift;
        if (!(*(*p)++ & 0x80)) return true;
    }
    return false;
}

static message_t *parse(world_t *w, const ProtobufCMessageDescriptor *kind, const uint8_t *p, size_t size,
                        int depth) {
    const uint8_t *end = p + size;
    message_t *m = w->n < MOST_MESSAGES && depth < MOST_DEPTH ? get(w, sizeof *m) : NULL;
    if (!m) return NULL;
    m->kind = kind;
    while (p < end) {
        uint64_t tag, value;
        field_t f = {0};
        if (!varint(&p, end, &tag)) return NULL;
        f.number = (unsigned)(tag >> 3);
        f.wire = tag & 7;
        if (f.wire == VARINT) {
            if (!varint(&p, end, &f.value)) return NULL;
        } else if (f.wire == BYTES) {
            if (!varint(&p, end, &value) || value > (uint64_t)(end - p)) return NULL;
            f.bytes = p;
            f.size = (size_t)value;
            p += f.size;
            const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(kind, f.number);
            if (d && d->type == PROTOBUF_C_TYPE_MESSAGE &&
                !(f.sub = parse(w, d->descriptor, f.bytes, f.size, depth + 1)))
                return NULL;
            if (d && d->type == PROTOBUF_C_TYPE_STRING && w->ntexts < MOST_TEXTS && f.size) {
                char *text = get(w, f.size + 1);
                if (text) w->texts[w->ntexts++] = memcpy(text, f.bytes, f.size);
            }
        } else if (f.wire == FIXED32 || f.wire == FIXED64) {
            f.size = f.wire == FIXED32 ? 4 : 8;
            if (f.size > (size_t)(end - p)) return NULL;
            memcpy(&f.value, p, f.size);
            p += f.size;
        } else {
            return NULL;
        }
        field_t *to = append(w, m);
        if (!to) return NULL;
        *to = f;
    }
    w->all[w->n++] = m;
    return m;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------ */

static void put(world_t *w, const void *p, size_t n) {
    if (w->written <= w->room && n <= w->room - w->written) memcpy(w->out + w->written, p, n);
    else n = w->room + 1 - w->written; /* too long: seen at the end */
    w->written += n;
}

static void put_varint(world_t *w, uint64_t v) {
    do {
        const uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        if (w->written > w->room) return;
        put(w, &byte, 1);
    } while (v >>= 7);
}

static size_t varint_size(uint64_t v) {
    size_t n = 1;
    while (v >>= 7) ++n;
    return n;
}

/* Bytes of a message; SIZE_MAX: too many, or a cycle. */
static size_t size_of(const message_t *m, int depth) {
    enum { TOO_LARGE = 1 << 24 };
    size_t sum = 0;
    if (depth > MOST_DEPTH) return SIZE_MAX;
    for (int i = 0; i < m->n; ++i) {
        const field_t *f = &m->at[i];
        const size_t body = f->sub              ? size_of(f->sub, depth + 1)
                            : f->wire == VARINT ? varint_size(f->value)
                                                : f->size;
        if (body > TOO_LARGE) return SIZE_MAX;
        sum += varint_size((uint64_t)f->number << 3) + body + (f->wire == BYTES ? varint_size(body) : 0);
        if (sum > TOO_LARGE) return SIZE_MAX;
    }
    return sum;
}

static void write(world_t *w, const message_t *m) {
    for (int i = 0; i < m->n && w->written <= w->room; ++i) {
        const field_t *f = &m->at[i];
        put_varint(w, (uint64_t)f->number << 3 | f->wire);
        if (f->wire == VARINT) put_varint(w, f->value);
        else if (f->wire != BYTES) put(w, &f->value, f->size);
        else if (f->sub) {
            put_varint(w, size_of(f->sub, 0));
            write(w, f->sub);
        } else {
            put_varint(w, f->size);
            if (f->size && w->written <= w->room) put(w, f->bytes, f->size);
        }
    }
}

/* ---- Changing ------------------------------------------------------------------------------------------------------- */

static uint64_t number(world_t *w, uint64_t old) {
    static const int64_t extreme[] = {0,
                                      1,
                                      -1,
                                      2,
                                      3,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      (int64_t)1 << 32,
                                      (int64_t)1 << 40,
                                      65535,
                                      1 << 20,
                                      INT64_MAX / 4};
    switch (below(w, 4)) {
    case 0: return (uint64_t)extreme[below(w, (int)(sizeof extreme / sizeof *extreme))];
    case 1: return old + (uint64_t)below(w, 5) - 2;
    case 2: return (uint64_t)below(w, 30);
    default: return old * 2;
    }
}

static const char *word(world_t *w) {
    static const char *const words[] = {"",
                                        "../secret",
                                        "/etc/passwd",
                                        "w.bin",
                                        ".",
                                        "location",
                                        "offset",
                                        "length",
                                        "18446744073709551615",
                                        "-1",
                                        "0",
                                        "then_branch",
                                        "else_branch",
                                        "body",
                                        "axis",
                                        "axes",
                                        "shape",
                                        "to",
                                        "value",
                                        "k",
                                        "mode",
                                        "perm",
                                        "pads",
                                        "kernel_shape",
                                        "strides",
                                        "dilations",
                                        "group",
                                        "equation",
                                        "epsilon",
                                        "alpha",
                                        "keepdims",
                                        "num_scan_inputs",
                                        "linear",
                                        "cubic",
                                        "edge",
                                        "wrap",
                                        "constant",
                                        "reflect",
                                        "ai.onnx",
                                        "ai.onnx.ml",
                                        "com.microsoft",
                                        "mine",
                                        "bhd,bd->bh",
                                        "i,j->ij",
                                        "SAME_UPPER",
                                        "x",
                                        "y"};
    int n;
    const row_t *rows = dtp_onnx_rows(&n);
    const int pick = below(w, 4);
    if (pick == 0) return words[below(w, (int)(sizeof words / sizeof *words))];
    if (pick == 1 || !w->ntexts) return rows[below(w, n)].op;
    return w->texts[below(w, w->ntexts)];
}

/* Some message of a kind; an empty one where there is none. */
static message_t *some(world_t *w, const ProtobufCMessageDescriptor *kind) {
    message_t *found = NULL;
    for (int i = 0, k = 0; i < w->n; ++i)
        if (w->all[i]->kind == kind && below(w, ++k) == 0) found = w->all[i];
    if (!found && (found = get(w, sizeof *found))) found->kind = kind;
    return found;
}

static void fill(world_t *w, field_t *f, const ProtobufCFieldDescriptor *d) {
    const char *text;
    switch (d->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        f->wire = BYTES;
        f->sub = some(w, d->descriptor);
        break;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        text = word(w);
        f->wire = BYTES;
        f->bytes = (const uint8_t *)text;
        f->size = strlen(text);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        f->wire = FIXED32;
        f->size = 4;
        f->value = next(w) & 0xffffffffU;
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        f->wire = FIXED64;
        f->size = 8;
        f->value = next(w);
        break;
    default: f->wire = VARINT; f->value = number(w, f->value);
    }
}

static void change_data(world_t *w, field_t *f) {
    const size_t size = f->size + (size_t)below(w, 9);
    uint8_t *copy = get(w, size + 1);
    if (!copy) return;
    if (f->size) memcpy(copy, f->bytes, f->size);
    if (size && below(w, 2)) copy[below(w, (int)size)] = (uint8_t)next(w);
    f->bytes = copy;
    f->size = below(w, 2) ? size : (size_t)below(w, (int)size + 1);
}

static void change_field(world_t *w, message_t *m) {
    field_t *f = &m->at[below(w, m->n)];
    const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(m->kind, f->number);
    const bool is_data = f->wire == BYTES && !f->sub;
    if (!d || (is_data && d->type != PROTOBUF_C_TYPE_STRING)) {
        if (is_data) change_data(w, f);
        else f->value = number(w, f->value);
        return;
    }
    fill(w, f, d);
}

static void add_field(world_t *w, message_t *m) {
    field_t *f = append(w, m);
    if (!f) return;
    if (below(w, 16) == 0 || !m->kind->n_fields) { /* one that nobody knows */
        f->number = 1 + (unsigned)below(w, 40);
        f->wire = VARINT;
        return;
    }
    const ProtobufCFieldDescriptor *d = &m->kind->fields[below(w, (int)m->kind->n_fields)];
    f->number = d->id;
    fill(w, f, d);
}

static void change(world_t *w) {
    message_t *m = w->all[below(w, w->n)];
    const int what = below(w, 8);
    if (m->n == 0 || what == 0) add_field(w, m);
    else if (what == 1) {
        const int i = below(w, m->n);
        memmove(&m->at[i], &m->at[i + 1], sizeof *m->at * (size_t)(--m->n - i));
    } else if (what == 2) {
        const int i = below(w, m->n);
        field_t *f = append(w, m);
        if (f) *f = m->at[i];
    } else if (what == 3) {
        field_t *a = &m->at[below(w, m->n)], *b = &m->at[below(w, m->n)], c = *a;
        *a = *b;
        *b = c;
    } else {
        change_field(w, m);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    enum { MOST_CHANGES = 4, BYTES_ONLY = 16 };
    static world_t world;
    world_t *w = &world;
    if (!w->arena && !(w->arena = malloc(ARENA))) return size;
    w->random = ((uint64_t)seed << 1 | 1) * 0x9e3779b97f4a7c15U;
    w->used = 0;
    w->n = w->ntexts = 0;
    w->written = 0;
    if (LLVMFuzzerMutate && below(w, BYTES_ONLY) == 0) return LLVMFuzzerMutate(data, size, max_size);
    uint8_t *in = get(w, size + 1);
    if (in) memcpy(in, data, size);
    message_t *m = in ? parse(w, &dtp_onnx__model_proto__descriptor, in, size, 0) : NULL;
    if (!m) return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max_size) : size;
    for (int i = 1 + below(w, MOST_CHANGES); i > 0; --i) change(w);
    if (size_of(m, 0) > max_size) return size;
    w->out = data;
    w->room = max_size;
    write(w, m);
    return w->written <= max_size ? w->written : size;
}
