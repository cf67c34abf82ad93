/* From the statements of a kernel to instructions: scopes, registers, labels, operands; calls are expanded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode.h"

enum { MAX_DEPTH = 16 };

static const token_t *token(const decoder_t *d, uint32_t i) { return &d->p->tokens[i]; }
static const token_t *here(const decoder_t *d) { return token(d, d->p->at); }

static bool same(const token_t *a, const token_t *b) {
    return a->bytes == b->bytes && memcmp(a->at, b->at, a->bytes) == 0;
}

bool ptx_refuse(decoder_t *d, const char *what) {
    return ptx_fail(d->p, d->opcode->line, "%.*s: %s", (int)d->opcode->bytes, d->opcode->at, what);
}

bool ptx_has(const decoder_t *d, const char *part) {
    for (int i = 1; i < d->num_parts; ++i)
        if (strcmp(d->parts[i], part) == 0) return true;
    return false;
}

static uint32_t new_rows(decoder_t *d, size_t width, uint32_t count) {
    uint32_t row = d->k->num_rows, each = width == 8 ? 2 : 1;
    if ((uint64_t)row + (uint64_t)each * count > CONSTANT_ROWS) {
        ptx_fail(d->p, here(d)->line, "too many registers");
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
    if (k->num_constants >= CONSTANT_ROWS) ptx_fail(d->p, here(d)->line, "too many constants");
    d->constants = ptx_grow(d->constants, d->num_constants, sizeof *d->constants);
    d->constants[d->num_constants++] =
        (fill_t){.kind = FILL_VALUE, .width = width, .row = (uint16_t)row, .value = value};
    return (uint16_t)row;
}

/* Constants as rows, for all warps. */
static void lay_out_constants(decoder_t *d) {
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
    f.row = (uint16_t)new_rows(d, f.width, 1);
    k->fills = ptx_grow(k->fills, k->num_fills, sizeof f);
    k->fills[k->num_fills++] = f;
    return f.row;
}

static bool find_register(const decoder_t *d, const token_t *t, uint16_t *row, uint8_t *width) {
    uint32_t digits = t->bytes, index = 0;
    while (digits && t->at[digits - 1] >= '0' && t->at[digits - 1] <= '9') --digits;
    for (uint32_t i = digits; i < t->bytes; ++i) index = index * 10 + (uint32_t)(t->at[i] - '0');
    for (uint32_t i = d->num_regs; i-- > d->reg_base;) {
        const reg_t *r = &d->regs[i];
        bool hit = r->count ? r->name->bytes == digits && digits < t->bytes &&
                                  memcmp(r->name->at, t->at, digits) == 0 && index < r->count
                            : same(r->name, t);
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
            *row =
                filled(d, (fill_t){.kind = special[i].kind, .axis = special[i].axis, .width = *width});
            return true;
        }
    return false;
}

static const symbol_t *find_symbol(const decoder_t *d, const token_t *t) {
    for (uint32_t i = d->num_symbols; i-- > d->symbol_base;) {
        const symbol_t *s = &d->symbols[i];
        if (s->name ? same(s->name, t) : ptx_is(t, s->text)) return s;
    }
    return NULL;
}

static void add_symbol(decoder_t *d, symbol_t s) {
    d->symbols = ptx_grow(d->symbols, d->num_symbols, sizeof s);
    d->symbols[d->num_symbols++] = s;
}

static uint64_t place(size_t *bytes, size_t align, size_t n) {
    uint64_t at = (*bytes + align - 1) / align * align;
    *bytes = at + n;
    return at;
}

/* The place of a variable; variables of the module become known when first used. */
static const symbol_t *need_symbol(decoder_t *d, const token_t *t) {
    const symbol_t *s = find_symbol(d, t);
    if (s) return s;
    for (int i = 0; i < d->p->module->num_variables; ++i) {
        const variable_t *v = &d->p->module->variables[i];
        if (!ptx_is(t, v->name)) continue;
        symbol_t new = {.text = v->name, .space = v->space, .offset = PTX_MODULE_WINDOW + v->offset};
        if (v->dynamic) {
            new.dynamic = true;
        } else if (v->space == SPACE_SHARED) {
            new.offset = place(&d->k->shared_bytes, v->align, v->bytes);
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
    const symbol_t *s = find_symbol(d, t);
    return s ? s : module_symbol(d, t);
}

static uint16_t symbol_row(decoder_t *d, const symbol_t *s, uint8_t width) {
    return s->dynamic ? filled(d, (fill_t){.kind = FILL_DYNAMIC_SHARED, .width = width})
                      : constant(d, s->offset, width);
}

static bool unknown(decoder_t *d, const token_t *t) {
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
    if (!ptx_is(t, "_") && !find_register(d, t, &row, &found)) return unknown(d, t);
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
    } else if (!find_special(d, t, &row, &found) && !find_register(d, t, &row, &found)) {
        const symbol_t *s = symbol(d, t);
        if (!s) return unknown(d, t);
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
    return one_dst(d, in, token(d, d->ops[i].first), width, any);
}

bool ptx_src(decoder_t *d, insn_t *in, int i, type_t type, size_t width, bool any) {
    if (i >= d->num_ops) return ptx_refuse(d, "an operand is missing");
    const text_operand_t *o = &d->ops[i];
    if (o->kind != 'w') return ptx_refuse(d, "a register or number expected");
    if (o->invert && width != 1) return ptx_refuse(d, "! before a register that is no predicate");
    if (o->invert) in->invert |= UINT32_C(1) << in->n_src;
    return one_src(d, in, token(d, o->first), o->minus, type, width, any);
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
        const token_t *t = token(d, k);
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
    const token_t *t = token(d, o->first);
    uint16_t row;
    uint8_t found = 8;
    uint64_t value;
    bool f32, f64;
    const symbol_t *s = NULL;
    if (ptx_number(t, &value, &f32, &f64)) {
        row = constant(d, value, 8);
    } else if (!find_register(d, t, &row, &found)) {
        s = symbol(d, t);
        if (!s) return unknown(d, t);
        row = symbol_row(d, s, 8);
        if (s->space != *space && *space == SPACE_PARAM) *space = (uint8_t)s->space;
        if (s->space == SPACE_SHARED && *space == SPACE_GENERIC) *space = SPACE_SHARED;
    }
    if (found < 4) return ptx_refuse(d, "an address in a small register");
    place_operand(in, row, found);
    ++in->n_src;
    *offset = 0;
    for (uint32_t k = o->first + 1, sign = 0; k < o->first + o->n; ++k) {
        const token_t *u = token(d, k);
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
    d->branches[d->num_branches++] = (label_t){token(d, d->ops[i].first), d->scope, at, table};
    return true;
}

static void open_scope(decoder_t *d, uint32_t parent) {
    d->scope_parent = ptx_grow(d->scope_parent, d->num_scopes, sizeof *d->scope_parent);
    d->scope = d->num_scopes++;
    d->scope_parent[d->scope] = parent;
}

/* .reg, .local, .shared and .param of a body. */
static bool body_declaration(decoder_t *d) {
    decl_t x;
    uint32_t at = d->p->at;
    if (!ptx_declaration(d->p, &x)) return false;
    for (bool more = true; more;) {
        size_t bytes = x.elems * ptx_type_bytes(x.type);
        if (strcmp(x.space, "reg") == 0) {
            uint32_t count = x.count ? x.count : 1;
            uint8_t width = (uint8_t)ptx_type_bytes(x.type);
            if (x.type != T_PRED && width == 1) width = 2;
            if (width > 8) return ptx_fail(d->p, token(d, at)->line, "registers of 128 bits");
            if (x.type != T_PRED) d->k->num_registers += (int)count * (width == 8 ? 2 : 1);
            d->regs = ptx_grow(d->regs, d->num_regs, sizeof *d->regs);
            d->regs[d->num_regs++] = (reg_t){x.name, new_rows(d, width, count), x.count, width};
        } else if (strcmp(x.space, "local") == 0 || strcmp(x.space, "param") == 0) {
            add_symbol(d, (symbol_t){.name = x.name,
                                     .space = SPACE_LOCAL,
                                     .offset = place(&d->k->local_bytes, x.align, bytes)});
        } else if (strcmp(x.space, "shared") == 0) {
            add_symbol(d, (symbol_t){.name = x.name,
                                     .space = SPACE_SHARED,
                                     .offset = place(&d->k->shared_bytes, x.align, bytes)});
        } else {
            return ptx_fail(d->p, x.name->line, "unknown declaration in a body");
        }
        more = here(d)->kind == ',';
        if (!more) break;
        ++d->p->at;
        x.name = here(d);
        x.count = 0;
        ++d->p->at;
        if (here(d)->kind == '<' || here(d)->kind == '[')
            return ptx_fail(d->p, x.name->line, "a list of arrays");
    }
    if (here(d)->kind != ';') return ptx_fail(d->p, here(d)->line, "';' expected in a declaration");
    ++d->p->at;
    return true;
}

/* Splits the operands of a statement up to its ';'. */
static bool split_operands(decoder_t *d) {
    d->num_ops = 0;
    text_operand_t o = {0};
    for (;;) {
        const token_t *t = here(d);
        bool end = t->kind == ';', next = t->kind == ',' || t->kind == '|';
        if (!t->kind) return ptx_refuse(d, "the statement has no end");
        if (end || next) {
            if (d->num_ops == MAX_TEXT_OPERANDS) return ptx_refuse(d, "too many operands");
            if (o.kind) d->ops[d->num_ops++] = o;
            o = (text_operand_t){.after_bar = t->kind == '|'};
            ++d->p->at;
            if (end) return true;
        } else if (t->kind == '[' || t->kind == '{' || t->kind == '(') {
            char close = t->kind == '[' ? ']' : t->kind == '{' ? '}' : ')';
            if (o.kind) return ptx_refuse(d, "an operand of unknown form");
            o.kind = t->kind;
            o.first = ++d->p->at;
            while (here(d)->kind && here(d)->kind != close) ++d->p->at;
            o.n = d->p->at++ - o.first;
        } else if (t->kind == '!' || t->kind == '-') {
            o.invert |= t->kind == '!';
            o.minus |= t->kind == '-';
            ++d->p->at;
        } else if (t->kind == 'w' && !o.kind) {
            o.kind = 'w';
            o.first = d->p->at++;
            o.n = 1;
        } else {
            return ptx_refuse(d, "an operand of unknown form");
        }
    }
}

static bool split_opcode(decoder_t *d, const token_t *t) {
    d->opcode = t;
    d->num_parts = 0;
    for (const char *c = t->at, *end = c + t->bytes, *next; c < end; c = next + 1) {
        for (next = c; next < end && *next != '.'; ++next) {
        }
        size_t n = (size_t)(next - c);
        if (d->num_parts == MAX_PARTS || n >= sizeof d->parts[0]) return ptx_refuse(d, "unknown");
        memcpy(d->parts[d->num_parts], c, n);
        d->parts[d->num_parts++][n] = 0;
    }
    return true;
}

/* label: .branchtargets a, b, ..; */
static bool branch_table(decoder_t *d) {
    ptx_kernel_t *k = d->k;
    uint32_t at = k->num_targets, n = 0;
    k->targets = ptx_grow(k->targets, k->num_targets, sizeof *k->targets);
    ++k->num_targets;
    for (d->opcode = here(d), ++d->p->at; here(d)->kind != ';'; ++d->p->at) {
        if (!here(d)->kind) return ptx_refuse(d, "no end");
        if (here(d)->kind != 'w') continue;
        d->branches = ptx_grow(d->branches, d->num_branches, sizeof *d->branches);
        d->branches[d->num_branches++] = (label_t){here(d), d->scope, k->num_targets, true};
        k->targets = ptx_grow(k->targets, k->num_targets, sizeof *k->targets);
        ++k->num_targets;
        ++n;
    }
    k->targets[at] = n;
    d->labels[d->num_labels - 1].at = at;
    ++d->p->at;
    return true;
}

static bool instruction(decoder_t *d) {
    insn_t in = {.line = here(d)->line};
    if (here(d)->kind == '@') {
        ++d->p->at;
        if (here(d)->kind == '!') {
            in.guard_not = true;
            ++d->p->at;
        }
        uint8_t width;
        if (!find_register(d, here(d), &in.guard, &width) || width != 1) return unknown(d, here(d));
        ++d->p->at;
    }
    in.line = here(d)->line;
    if (here(d)->kind != 'w') return ptx_fail(d->p, in.line, "an instruction expected");
    if (!split_opcode(d, here(d))) return false;
    ++d->p->at;
    if (!split_operands(d)) return false;
    if (strcmp(d->parts[0], "call") == 0) {
        if (in.guard) return ptx_refuse(d, "a call under a predicate");
        return ptx_call(d);
    }
    if (!ptx_decode_opcode(d, &in)) return false;
    d->k->code = ptx_grow(d->k->code, d->k->num_code, sizeof in);
    d->k->code[d->k->num_code++] = in;
    return true;
}

static bool statement(decoder_t *d) {
    const token_t *t = here(d);
    if (t->kind == '@') return instruction(d);
    if (t->kind == ';') {
        ++d->p->at;
        return true;
    }
    if (t->kind != 'w') return ptx_fail(d->p, t->line, "unexpected '%c'", t->kind);
    if (token(d, d->p->at + 1)->kind == ':') {
        d->labels = ptx_grow(d->labels, d->num_labels, sizeof *d->labels);
        d->labels[d->num_labels++] = (label_t){t, d->scope, d->k->num_code, false};
        d->p->at += 2;
        return !ptx_is(here(d), ".branchtargets") || branch_table(d);
    }
    if (*t->at != '.') return instruction(d);
    if (ptx_is(t, ".loc") || ptx_is(t, ".pragma")) {
        for (uint32_t line = t->line; here(d)->kind && here(d)->line == line;) ++d->p->at;
        return true;
    }
    return body_declaration(d);
}

/* Statements up to token `last`, in a scope of their own. */
static bool body(decoder_t *d, uint32_t last, uint32_t parent) {
    uint32_t regs = d->num_regs, symbols = d->num_symbols - d->symbol_base, outer = d->scope;
    open_scope(d, parent);
    bool ok = true;
    while (ok && d->p->at < last) {
        if (here(d)->kind == '}') break;
        if (here(d)->kind == '{') {
            ++d->p->at;
            ok = body(d, last, d->scope);
            ++d->p->at;
        } else {
            ok = statement(d);
        }
    }
    d->scope = outer;
    d->num_regs = regs;
    d->num_symbols = d->symbol_base + symbols;
    return ok;
}

/* Binds a callee's parameter to the variable that the caller names. */
static bool bind(decoder_t *d, const formal_t *formals, int n, const text_operand_t *o) {
    int i = 0;
    for (uint32_t k = o->first; k < o->first + o->n; ++k) {
        if (token(d, k)->kind == ',') continue;
        const symbol_t *s = find_symbol(d, token(d, k));
        if (!s || i == n) return ptx_refuse(d, "an argument that is no variable");
        add_symbol(d, (symbol_t){.text = formals[i++].name, .space = s->space, .offset = s->offset});
    }
    return i == n || ptx_refuse(d, "an argument is missing");
}

/* call.uni (results), name, (arguments): the callee's instructions follow in place. */
bool ptx_call(decoder_t *d) {
    int name = 0;
    while (name < d->num_ops && d->ops[name].kind == '(') ++name;
    if (name == d->num_ops || d->ops[name].kind != 'w') return ptx_refuse(d, "unknown form");
    const function_t *f = NULL;
    for (int i = 0; i < d->p->num_functions; ++i)
        if (d->p->functions[i].first && ptx_is(token(d, d->ops[name].first), d->p->functions[i].name))
            f = &d->p->functions[i];
    if (!f) return ptx_refuse(d, "of a function without a body");
    if (d->depth == MAX_DEPTH) return ptx_refuse(d, "calls are too deep");
    uint32_t symbols = d->num_symbols - d->symbol_base, seen = symbols, at = d->p->at, regs = d->reg_base,
             returns = d->num_returns;
    text_operand_t none = {0};
    const text_operand_t results = name ? d->ops[0] : none,
                         arguments = name + 1 < d->num_ops ? d->ops[name + 1] : none;
    if (!bind(d, f->results, f->num_results, &results) || !bind(d, f->params, f->num_params, &arguments))
        return false;
    d->symbol_base += seen;
    d->reg_base = d->num_regs;
    d->p->at = f->first;
    ++d->depth;
    bool ok = body(d, f->last, UINT32_MAX);
    --d->depth;
    d->symbol_base -= seen;
    d->num_symbols = d->symbol_base + symbols;
    d->reg_base = regs;
    d->p->at = at;
    for (uint32_t i = returns; i < d->num_returns; ++i) d->k->code[d->returns[i]].target = d->k->num_code;
    d->num_returns = returns;
    return ok;
}

static bool resolve(decoder_t *d) {
    for (uint32_t i = 0; i < d->num_branches; ++i) {
        const label_t *b = &d->branches[i], *found = NULL;
        for (uint32_t scope = b->scope; scope != UINT32_MAX && !found; scope = d->scope_parent[scope])
            for (uint32_t k = 0; k < d->num_labels && !found; ++k)
                if (d->labels[k].scope == scope && same(d->labels[k].name, b->name)) found = &d->labels[k];
        if (!found)
            return ptx_fail(d->p, b->name->line, "unknown label %.*s", (int)b->name->bytes, b->name->at);
        if (b->table) d->k->targets[b->at] = found->at;
        else d->k->code[b->at].target = found->at;
    }
    return true;
}

bool ptx_decode(parser_t *p, const function_t *f, ptx_kernel_t *k) {
    decoder_t d = {.p = p, .k = k, .scope = UINT32_MAX};
    k->name = malloc(strlen(f->name) + 1);
    k->params = calloc((size_t)f->num_params + 1, sizeof *k->params);
    if (!k->name || !k->params) abort();
    memcpy(k->name, f->name, strlen(f->name) + 1);
    k->num_params = f->num_params;
    k->max_threads = f->max_threads;
    k->num_rows = 1; /* row 0: none */
    for (int i = 0; i < f->num_params; ++i) {
        uint64_t at = place(&k->params_bytes, f->params[i].align, f->params[i].bytes);
        k->params[i] = (param_t){at, f->params[i].bytes};
        add_symbol(&d, (symbol_t){.text = f->params[i].name, .space = SPACE_PARAM, .offset = at});
    }
    p->at = f->first;
    bool ok = body(&d, f->last, UINT32_MAX) && resolve(&d) && !p->failed;
    k->local_bytes = (k->local_bytes + 15) / 16 * 16;
    insn_t end = {.exec = ptx_exec_ret};
    k->code = ptx_grow(k->code, k->num_code, sizeof end);
    k->code[k->num_code++] = end;
    lay_out_constants(&d);
    free(d.constants);
    free(d.regs);
    free(d.symbols);
    free(d.labels);
    free(d.branches);
    free(d.scope_parent);
    free(d.returns);
    return ok;
}
