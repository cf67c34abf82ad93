/* From the statements of a kernel to instructions: scopes, declarations, labels; calls are expanded. Operands: decode_operands.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode.h"

enum { MAX_DEPTH = 16 };

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
            if (width > 8) return ptx_fail(d->p, ptx_token(d, at)->line, "registers of 128 bits");
            if (x.type != T_PRED) d->k->num_registers += (int)count * (width == 8 ? 2 : 1);
            d->regs = ptx_grow(d->regs, d->num_regs, sizeof *d->regs);
            d->regs[d->num_regs++] = (reg_t){x.name, ptx_new_rows(d, width, count), x.count, width};
        } else if (strcmp(x.space, "local") == 0 || strcmp(x.space, "param") == 0) {
            ptx_add_symbol(d, (symbol_t){.name = x.name,
                                         .space = SPACE_LOCAL,
                                         .offset = ptx_place(&d->k->local_bytes, x.align, bytes)});
        } else if (strcmp(x.space, "shared") == 0) {
            ptx_add_symbol(d, (symbol_t){.name = x.name,
                                         .space = SPACE_SHARED,
                                         .offset = ptx_place(&d->k->shared_bytes, x.align, bytes)});
        } else {
            return ptx_fail(d->p, x.name->line, "unknown declaration in a body");
        }
        more = ptx_here(d)->kind == ',';
        if (!more) break;
        ++d->p->at;
        x.name = ptx_here(d);
        x.count = 0;
        ++d->p->at;
        if (ptx_here(d)->kind == '<' || ptx_here(d)->kind == '[')
            return ptx_fail(d->p, x.name->line, "a list of arrays");
    }
    if (ptx_here(d)->kind != ';') return ptx_fail(d->p, ptx_here(d)->line, "';' expected in a declaration");
    ++d->p->at;
    return true;
}

/* Splits the operands of a statement up to its ';'. */
static bool split_operands(decoder_t *d) {
    d->num_ops = 0;
    text_operand_t o = {0};
    for (;;) {
        const token_t *t = ptx_here(d);
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
            while (ptx_here(d)->kind && ptx_here(d)->kind != close) ++d->p->at;
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
    for (d->opcode = ptx_here(d), ++d->p->at; ptx_here(d)->kind != ';'; ++d->p->at) {
        if (!ptx_here(d)->kind) return ptx_refuse(d, "no end");
        if (ptx_here(d)->kind != 'w') continue;
        d->branches = ptx_grow(d->branches, d->num_branches, sizeof *d->branches);
        d->branches[d->num_branches++] = (label_t){ptx_here(d), d->scope, k->num_targets, true};
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
    insn_t in = {.line = ptx_here(d)->line};
    if (ptx_here(d)->kind == '@') {
        ++d->p->at;
        if (ptx_here(d)->kind == '!') {
            in.guard_not = true;
            ++d->p->at;
        }
        uint8_t width;
        if (!ptx_find_register(d, ptx_here(d), &in.guard, &width) || width != 1)
            return ptx_unknown(d, ptx_here(d));
        ++d->p->at;
    }
    in.line = ptx_here(d)->line;
    if (ptx_here(d)->kind != 'w') return ptx_fail(d->p, in.line, "an instruction expected");
    if (!split_opcode(d, ptx_here(d))) return false;
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
    const token_t *t = ptx_here(d);
    if (t->kind == '@') return instruction(d);
    if (t->kind == ';') {
        ++d->p->at;
        return true;
    }
    if (t->kind != 'w') return ptx_fail(d->p, t->line, "unexpected '%c'", t->kind);
    if (ptx_token(d, d->p->at + 1)->kind == ':') {
        d->labels = ptx_grow(d->labels, d->num_labels, sizeof *d->labels);
        d->labels[d->num_labels++] = (label_t){t, d->scope, d->k->num_code, false};
        d->p->at += 2;
        return !ptx_is(ptx_here(d), ".branchtargets") || branch_table(d);
    }
    if (*t->at != '.') return instruction(d);
    if (ptx_is(t, ".loc") || ptx_is(t, ".pragma")) {
        for (uint32_t line = t->line; ptx_here(d)->kind && ptx_here(d)->line == line;) ++d->p->at;
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
        if (ptx_here(d)->kind == '}') break;
        if (ptx_here(d)->kind == '{') {
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
        if (ptx_token(d, k)->kind == ',') continue;
        const symbol_t *s = ptx_find_symbol(d, ptx_token(d, k));
        if (!s || i == n) return ptx_refuse(d, "an argument that is no variable");
        ptx_add_symbol(d, (symbol_t){.text = formals[i++].name, .space = s->space, .offset = s->offset});
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
        if (d->p->functions[i].first && ptx_is(ptx_token(d, d->ops[name].first), d->p->functions[i].name))
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
                if (d->labels[k].scope == scope && ptx_same(d->labels[k].name, b->name))
                    found = &d->labels[k];
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
        uint64_t at = ptx_place(&k->params_bytes, f->params[i].align, f->params[i].bytes);
        k->params[i] = (param_t){at, f->params[i].bytes};
        ptx_add_symbol(&d, (symbol_t){.text = f->params[i].name, .space = SPACE_PARAM, .offset = at});
    }
    p->at = f->first;
    bool ok = body(&d, f->last, UINT32_MAX) && resolve(&d) && !p->failed;
    k->local_bytes = (k->local_bytes + 15) / 16 * 16;
    insn_t end = {.exec = ptx_exec_ret};
    k->code = ptx_grow(k->code, k->num_code, sizeof end);
    k->code[k->num_code++] = end;
    ptx_lay_out_constants(&d);
    free(d.constants);
    free(d.regs);
    free(d.symbols);
    free(d.labels);
    free(d.branches);
    free(d.scope_parent);
    free(d.returns);
    return ok;
}
