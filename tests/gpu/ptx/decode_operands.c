/* Operands of statements: registers, constants, special values, variables and labels become rows and offsets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode.h"

bool ptx_refuse(decoder_t *d, const char *what) {
    return ptx_fail(d->p, d->opcode->line, "%.*s: %s", (int)d->opcode->bytes, d->opcode->at, what);
}

bool ptx_has(const decoder_t *d, const char *part) {
    for (int i = 1; i < d->num_parts; ++i)
        if (strcmp(d->parts[i], part) == 0) return true;
    return false;
}

uint32_t ptx_new_rows(decoder_t *d, size_t width, uint32_t count) {
    uint32_t row = d->k->num_rows, each = width == 8 ? 2 : 1;
    if ((uint64_t)row + (uint64_t)each * count > CONSTANT_ROWS) {
        ptx_fail(d->p, ptx_here(d)->line, "too many registers");
        return 1;
    }
    d->k->num_rows += each * count;
    return row;
}

/* The row of a constant, one for all its uses. */
static uint16_t constant(decoder_t *d, uint64_t value, uint8_t width) {
    ptx_kernel_t *k = d->k;
    for (uint32_t i = 0; i < d->num_constants; ++i)
        if (d->constants[i].value == value && d->constants[i].width == width) return d->constants[i].row;
    uint32_t row = CONSTANT_ROWS + k->num_constants;
    k->num_constants += width == 8 ? 2 : 1;
    if (k->num_constants >= CONSTANT_ROWS) ptx_fail(d->p, ptx_here(d)->line, "too many constants");
    d->constants = ptx_grow(d->constants, d->num_constants, sizeof *d->constants);
    d->constants[d->num_constants++] =
        (fill_t){.kind = FILL_VALUE, .width = width, .row = (uint16_t)row, .value = value};
    return (uint16_t)row;
}

/* Constants as rows, for all warps. */
void ptx_lay_out_constants(decoder_t *d) {
    ptx_kernel_t *k = d->k;
    k->constants = malloc((k->num_constants + 1) * (size_t)ROW_BYTES);
    k->constant_set = malloc((k->num_constants + 1) * sizeof *k->constant_set);
    if (!k->constants || !k->constant_set) abort();
    memset(k->constant_set, 0xff, k->num_constants * sizeof *k->constant_set);
    for (uint32_t i = 0; i < d->num_constants; ++i) {
        const fill_t *f = &d->constants[i];
        unsigned char *row = k->constants + (size_t)(f->row - CONSTANT_ROWS) * ROW_BYTES;
        for (int lane = 0; lane < LANES; ++lane) {
            if (f->width == 8) memcpy(row + 8 * lane, &f->value, 8);
            else memcpy(row + 4 * lane, &(uint32_t){(uint32_t)f->value}, 4);
        }
    }
}

/* The row of a special value, one for all its uses. */
static uint16_t filled(decoder_t *d, fill_t f) {
    ptx_kernel_t *k = d->k;
    for (uint32_t i = 0; i < k->num_fills; ++i) {
        const fill_t *g = &k->fills[i];
        if (g->kind == f.kind && g->width == f.width && g->axis == f.axis) return g->row;
    }
    f.row = (uint16_t)ptx_new_rows(d, f.width, 1);
    k->fills = ptx_grow(k->fills, k->num_fills, sizeof f);
    k->fills[k->num_fills++] = f;
    return f.row;
}

bool ptx_find_register(const decoder_t *d, const token_t *t, uint16_t *row, uint8_t *width) {
    uint32_t digits = t->bytes, index = 0;
    while (digits && t->at[digits - 1] >= '0' && t->at[digits - 1] <= '9') --digits;
    for (uint32_t i = digits; i < t->bytes; ++i) index = index * 10 + (uint32_t)(t->at[i] - '0');
    for (uint32_t i = d->num_regs; i-- > d->reg_base;) {
        const reg_t *r = &d->regs[i];
        bool hit = r->count ? r->name->bytes == digits && digits < t->bytes &&
                                  memcmp(r->name->at, t->at, digits) == 0 && index < r->count
                            : ptx_same(r->name, t);
        if (!hit) continue;
        *row = (uint16_t)(r->row + (r->count ? index : 0) * (r->width == 8 ? 2u : 1u));
        *width = r->width;
        return true;
    }
    return false;
}

static bool find_special(decoder_t *d, const token_t *t, uint16_t *row, uint8_t *width) {
    static const struct {
        const char *name;
        fill_kind_t kind;
        uint8_t axis;
    } special[] = {{"%tid.x", FILL_TID, 0},
                   {"%tid.y", FILL_TID, 1},
                   {"%tid.z", FILL_TID, 2},
                   {"%ntid.x", FILL_NTID, 0},
                   {"%ntid.y", FILL_NTID, 1},
                   {"%ntid.z", FILL_NTID, 2},
                   {"%ctaid.x", FILL_CTAID, 0},
                   {"%ctaid.y", FILL_CTAID, 1},
                   {"%ctaid.z", FILL_CTAID, 2},
                   {"%nctaid.x", FILL_NCTAID, 0},
                   {"%nctaid.y", FILL_NCTAID, 1},
                   {"%nctaid.z", FILL_NCTAID, 2},
                   {"%laneid", FILL_LANE, 0},
                   {"%warpid", FILL_WARP, 0},
                   {"%nwarpid", FILL_NWARPS, 0},
                   {"%dynamic_smem_size", FILL_DYNAMIC_BYTES, 0},
                   {"%total_smem_size", FILL_TOTAL_BYTES, 0},
                   {"%globaltimer", FILL_TIME, 0},
                   {"%lanemask_eq", FILL_LANEMASK, 0},
                   {"%lanemask_lt", FILL_LANEMASK, 1},
                   {"%lanemask_le", FILL_LANEMASK, 2},
                   {"%lanemask_gt", FILL_LANEMASK, 3},
                   {"%lanemask_ge", FILL_LANEMASK, 4}};
    for (size_t i = 0; i < sizeof special / sizeof *special; ++i)
        if (ptx_is(t, special[i].name)) {
            *width = special[i].kind == FILL_TIME ? 8 : 4;
            *row = filled(d, (fill_t){.kind = special[i].kind, .axis = special[i].axis, .width = *width});
            return true;
        }
    return false;
}

const symbol_t *ptx_find_symbol(const decoder_t *d, const token_t *t) {
    for (uint32_t i = d->num_symbols; i-- > d->symbol_base;) {
        const symbol_t *s = &d->symbols[i];
        if (s->name ? ptx_same(s->name, t) : ptx_is(t, s->text)) return s;
    }
    return NULL;
}

void ptx_add_symbol(decoder_t *d, symbol_t s) {
    d->symbols = ptx_grow(d->symbols, d->num_symbols, sizeof s);
    d->symbols[d->num_symbols++] = s;
}

uint64_t ptx_place(size_t *bytes, size_t align, size_t n) {
    uint64_t at = (*bytes + align - 1) / align * align;
    *bytes = at + n;
    return at;
}

/* The place of a variable; variables of the module become known when first used. */
static const symbol_t *need_symbol(decoder_t *d, const token_t *t) {
    const symbol_t *s = ptx_find_symbol(d, t);
    if (s) return s;
    for (int i = 0; i < d->p->module->num_variables; ++i) {
        const variable_t *v = &d->p->module->variables[i];
        if (!ptx_is(t, v->name)) continue;
        symbol_t new = {.text = v->name, .space = v->space, .offset = PTX_MODULE_WINDOW + v->offset};
        if (v->dynamic) {
            new.dynamic = true;
        } else if (v->space == SPACE_SHARED) {
            new.offset = ptx_place(&d->k->shared_bytes, v->align, v->bytes);
        }
        /* Known in all expanded calls: before what is cut off at their end. */
        d->symbols = ptx_grow(d->symbols, d->num_symbols, sizeof new);
        memmove(d->symbols + 1, d->symbols, d->num_symbols++ * sizeof new);
        d->symbols[0] = new;
        ++d->symbol_base;
        return d->symbols;
    }
    return NULL;
}

static const symbol_t *module_symbol(decoder_t *d, const token_t *t) {
    for (uint32_t i = 0; i < d->num_symbols; ++i)
        if (d->symbols[i].text && ptx_is(t, d->symbols[i].text)) return &d->symbols[i];
    return need_symbol(d, t);
}

static const symbol_t *symbol(decoder_t *d, const token_t *t) {
    const symbol_t *s = ptx_find_symbol(d, t);
    return s ? s : module_symbol(d, t);
}

static uint16_t symbol_row(decoder_t *d, const symbol_t *s, uint8_t width) {
    return s->dynamic ? filled(d, (fill_t){.kind = FILL_DYNAMIC_SHARED, .width = width})
                      : constant(d, s->offset, width);
}

bool ptx_unknown(decoder_t *d, const token_t *t) {
    return ptx_fail(d->p, t->line, "unknown operand %.*s", (int)t->bytes, t->at);
}

static int place_operand(insn_t *in, uint16_t row, uint8_t width) {
    int i = in->n_dst + in->n_src;
    in->row[i] = row;
    in->width[i] = width;
    return i;
}

static bool one_dst(decoder_t *d, insn_t *in, const token_t *t, size_t width, bool any) {
    uint16_t row = 0;
    uint8_t found = 0;
    if (in->n_dst + in->n_src == MAX_OPERANDS) return ptx_refuse(d, "too many operands");
    if (!ptx_is(t, "_") && !ptx_find_register(d, t, &row, &found)) return ptx_unknown(d, t);
    if (found && found != width && !any) return ptx_refuse(d, "a destination of another size");
    place_operand(in, row, found);
    ++in->n_dst;
    return true;
}

static uint64_t immediate(uint64_t value, type_t type, bool f32, bool f64, bool minus) {
    if (f64 && (type == T_F32 || type == T_TF32)) value = ptx_f32_bits((float)ptx_bits_f64(value));
    if (f32 && type == T_F64) value = ptx_f64_bits((double)ptx_bits_f32((uint32_t)value));
    if (!minus) return value;
    if (type == T_F32) return value ^ UINT32_C(0x80000000);
    return type == T_F64 ? value ^ (UINT64_C(1) << 63) : 0 - value;
}

static bool one_src(decoder_t *d, insn_t *in, const token_t *t, bool minus, type_t type, size_t width,
                    bool any) {
    uint16_t row;
    uint8_t found;
    uint64_t value;
    bool f32, f64;
    if (in->n_dst + in->n_src == MAX_OPERANDS) return ptx_refuse(d, "too many operands");
    if (ptx_number(t, &value, &f32, &f64)) {
        value = immediate(value, type, f32, f64, minus);
        found = width == 8 ? 8 : 4;
        if (type == T_PRED) value = value ? UINT32_MAX : 0; /* a bit for each lane */
        else if (width < 8) value &= (UINT64_C(1) << 8 * width) - 1;
        row = constant(d, value, found);
        found = (uint8_t)width;
    } else if (!find_special(d, t, &row, &found) && !ptx_find_register(d, t, &row, &found)) {
        const symbol_t *s = symbol(d, t);
        if (!s) return ptx_unknown(d, t);
        found = (uint8_t)width;
        row = symbol_row(d, s, found);
    }
    if (found != width && !any) return ptx_refuse(d, "a source of another size");
    place_operand(in, row, found);
    ++in->n_src;
    return true;
}

bool ptx_dst(decoder_t *d, insn_t *in, int i, size_t width, bool any) {
    if (i >= d->num_ops) return ptx_refuse(d, "an operand is missing");
    if (d->ops[i].kind != 'w') return ptx_refuse(d, "a register expected");
    return one_dst(d, in, ptx_token(d, d->ops[i].first), width, any);
}

bool ptx_src(decoder_t *d, insn_t *in, int i, type_t type, size_t width, bool any) {
    if (i >= d->num_ops) return ptx_refuse(d, "an operand is missing");
    const text_operand_t *o = &d->ops[i];
    if (o->kind != 'w') return ptx_refuse(d, "a register or number expected");
    if (o->invert && width != 1) return ptx_refuse(d, "! before a register that is no predicate");
    if (o->invert) in->invert |= UINT32_C(1) << in->n_src;
    return one_src(d, in, ptx_token(d, o->first), o->minus, type, width, any);
}

static int list(decoder_t *d, insn_t *in, int i, bool dst, type_t type, size_t width, bool any) {
    if (i >= d->num_ops) {
        ptx_refuse(d, "an operand is missing");
        return 0;
    }
    const text_operand_t *o = &d->ops[i];
    if (o->kind == 'w')
        return (dst ? ptx_dst(d, in, i, width, any) : ptx_src(d, in, i, type, width, any)) ? 1 : 0;
    if (o->kind != '{') {
        ptx_refuse(d, "a list of registers expected");
        return 0;
    }
    int n = 0;
    bool minus = false;
    for (uint32_t k = o->first; k < o->first + o->n; ++k) {
        const token_t *t = ptx_token(d, k);
        if (t->kind == '-') minus = true;
        if (t->kind != 'w') continue;
        if (!(dst ? one_dst(d, in, t, width, any) : one_src(d, in, t, minus, type, width, any))) return 0;
        minus = false;
        ++n;
    }
    return n;
}

int ptx_dst_list(decoder_t *d, insn_t *in, int i, size_t width, bool any) {
    return list(d, in, i, true, T_NONE, width, any);
}

int ptx_src_list(decoder_t *d, insn_t *in, int i, type_t type, size_t width, bool any) {
    return list(d, in, i, false, type, width, any);
}

bool ptx_address(decoder_t *d, insn_t *in, int i, int64_t *offset, uint8_t *space) {
    if (i >= d->num_ops || d->ops[i].kind != '[') return ptx_refuse(d, "an address expected");
    const text_operand_t *o = &d->ops[i];
    const token_t *t = ptx_token(d, o->first);
    uint16_t row;
    uint8_t found = 8;
    uint64_t value;
    bool f32, f64;
    const symbol_t *s = NULL;
    if (ptx_number(t, &value, &f32, &f64)) {
        row = constant(d, value, 8);
    } else if (!ptx_find_register(d, t, &row, &found)) {
        s = symbol(d, t);
        if (!s) return ptx_unknown(d, t);
        row = symbol_row(d, s, 8);
        if (s->space != *space && *space == SPACE_PARAM) *space = (uint8_t)s->space;
        if (s->space == SPACE_SHARED && *space == SPACE_GENERIC) *space = SPACE_SHARED;
    }
    if (found < 4) return ptx_refuse(d, "an address in a small register");
    place_operand(in, row, found);
    ++in->n_src;
    *offset = 0;
    for (uint32_t k = o->first + 1, sign = 0; k < o->first + o->n; ++k) {
        const token_t *u = ptx_token(d, k);
        if (u->kind == '-') sign = 1;
        if (u->kind == '-' || u->kind == '+') continue;
        if (!ptx_number(u, &value, &f32, &f64)) return ptx_refuse(d, "an offset expected");
        *offset += sign ? -(int64_t)value : (int64_t)value;
        sign = 0;
    }
    return true;
}

bool ptx_branch_to(decoder_t *d, int i, bool table, uint32_t at) {
    if (i >= d->num_ops || d->ops[i].kind != 'w') return ptx_refuse(d, "a label expected");
    d->branches = ptx_grow(d->branches, d->num_branches, sizeof *d->branches);
    d->branches[d->num_branches++] = (label_t){ptx_token(d, d->ops[i].first), d->scope, at, table};
    return true;
}
