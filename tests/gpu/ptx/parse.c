/* Declarations of a PTX text: variables of the module with their initial values, functions, kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lex.h"

static const token_t *here(const parser_t *p) { return &p->tokens[p->at]; }

static bool eat(parser_t *p, char kind) {
    if (here(p)->kind != kind) return false;
    ++p->at;
    return true;
}

static bool need(parser_t *p, char kind) {
    if (eat(p, kind)) return true;
    return ptx_fail(p, here(p)->line, "'%c' expected before '%.*s'", kind, (int)here(p)->bytes, here(p)->at);
}

static bool need_number(parser_t *p, uint64_t *value) {
    bool f32, f64;
    if (!ptx_number(here(p), value, &f32, &f64)) return ptx_fail(p, here(p)->line, "a number expected");
    ++p->at;
    return true;
}

/* One word such as .reg.b16: each of its parts. */
static bool qualifiers(parser_t *p, decl_t *d, bool *pointer) {
    static const char *const spaces[] = {"reg", "param", "shared", "global", "const", "local"};
    static const char *const ignored[] = {"visible", "extern", "weak", "common", "ptr"};
    const token_t *t = here(p);
    ++p->at;
    for (const char *c = t->at, *end = t->at + t->bytes, *next; c < end; c = next) {
        for (next = ++c; next < end && *next != '.'; ++next) {
        }
        size_t n = (size_t)(next - c);
        type_t type = ptx_type(c, n);
        bool known = type != T_NONE;
        if (known) d->type = type;
        for (size_t i = 0; i < sizeof ignored / sizeof *ignored; ++i)
            if (strlen(ignored[i]) == n && memcmp(c, ignored[i], n) == 0) known = true;
        if (n == 3 && memcmp(c, "ptr", n) == 0) *pointer = true;
        for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i)
            if (strlen(spaces[i]) == n && memcmp(c, spaces[i], n) == 0) {
                known = true;
                if (!*pointer) snprintf(d->space, sizeof d->space, "%s", spaces[i]);
            }
        if (n == 5 && memcmp(c, "align", n) == 0) {
            uint64_t align;
            if (!need_number(p, &align)) return false;
            if (!*pointer) d->align = align;
            known = true;
        }
        if (!known) return ptx_fail(p, t->line, "unknown .%.*s in a declaration", (int)n, c);
    }
    return true;
}

bool ptx_declaration(parser_t *p, decl_t *d) {
    *d = (decl_t){.elems = 1};
    bool pointer = false;
    while (here(p)->kind == 'w' && *here(p)->at == '.')
        if (!qualifiers(p, d, &pointer)) return false;
    d->name = here(p);
    if (!need(p, 'w')) return false;
    if (d->type == T_NONE) return ptx_fail(p, d->name->line, "a declaration without a type");
    if (eat(p, '<')) {
        uint64_t count;
        if (!need_number(p, &count) || !need(p, '>')) return false;
        d->count = (uint32_t)count;
    }
    while (eat(p, '[')) {
        uint64_t n = 0;
        d->array = true;
        if (here(p)->kind == ']') d->unsized = true;
        else if (!need_number(p, &n)) return false;
        d->elems *= n;
        if (!need(p, ']')) return false;
    }
    if (!d->align) d->align = ptx_type_bytes(d->type);
    return true;
}

static const variable_t *find_variable(const ptx_module_t *m, const token_t *t) {
    for (int i = 0; i < m->num_variables; ++i)
        if (ptx_is(t, m->variables[i].name)) return &m->variables[i];
    return NULL;
}

/* One value of an initialiser: a number, name, name+number, generic(name). */
static bool initial_value(parser_t *p, type_t type, unsigned char *to) {
    uint64_t value = 0, more;
    bool f32, f64, minus = eat(p, '-'), generic = false;
    const token_t *t = here(p);
    if (ptx_number(t, &value, &f32, &f64)) {
        ++p->at;
        if (f64 && type == T_F32) value = ptx_f32_bits((float)ptx_bits_f64(value));
        if (minus) value = 0 - value;
    } else {
        if (ptx_is(t, "generic") && p->tokens[p->at + 1].kind == '(') {
            generic = true;
            p->at += 2;
        }
        const variable_t *v = find_variable(p->module, here(p));
        if (!v || (v->space != SPACE_GLOBAL && v->space != SPACE_CONST))
            return ptx_fail(p, t->line, "unknown initial value %.*s", (int)t->bytes, t->at);
        ++p->at;
        value = PTX_MODULE_WINDOW + v->offset;
        if (generic && !need(p, ')')) return false;
        if (eat(p, '+')) {
            if (!need_number(p, &more)) return false;
            value += more;
        }
    }
    memcpy(to, &value, ptx_type_bytes(type));
    return true;
}

static bool initial_values(parser_t *p, type_t type, size_t offset, size_t end) {
    size_t bytes = ptx_type_bytes(type), depth = 0;
    do {
        if (eat(p, '{')) {
            ++depth;
        } else if (eat(p, '}')) {
            --depth;
        } else if (!eat(p, ',')) {
            if (offset + bytes > end) return ptx_fail(p, here(p)->line, "too many initial values");
            if (!initial_value(p, type, p->module->memory + offset)) return false;
            offset += bytes;
        }
    } while (depth);
    return true;
}

static bool module_variable(parser_t *p) {
    decl_t d;
    if (!ptx_declaration(p, &d)) return false;
    ptx_module_t *m = p->module;
    m->variables = ptx_grow(m->variables, (size_t)m->num_variables, sizeof *m->variables);
    variable_t *v = &m->variables[m->num_variables++];
    *v = (variable_t){.name = ptx_word(d.name),
                      .align = d.align,
                      .bytes = d.elems * ptx_type_bytes(d.type),
                      .dynamic = d.unsized};
    if (strcmp(d.space, "shared") == 0) {
        v->space = SPACE_SHARED;
        return need(p, ';');
    }
    if (strcmp(d.space, "global") != 0 && strcmp(d.space, "const") != 0)
        return ptx_fail(p, d.name->line, "unknown variable %s", v->name);
    v->space = strcmp(d.space, "global") == 0 ? SPACE_GLOBAL : SPACE_CONST;
    v->offset = (m->memory_bytes + d.align - 1) / d.align * d.align;
    size_t end = v->offset + v->bytes;
    m->memory = realloc(m->memory, end + 1);
    if (!m->memory) abort();
    memset(m->memory + m->memory_bytes, 0, end + 1 - m->memory_bytes);
    m->memory_bytes = end;
    if (eat(p, '=') && !initial_values(p, d.type, v->offset, end)) return false;
    return need(p, ';');
}

static bool formals(parser_t *p, formal_t **list, int *n) {
    if (!need(p, '(')) return false;
    while (!eat(p, ')')) {
        decl_t d;
        if (eat(p, ',')) continue;
        if (!ptx_declaration(p, &d)) return false;
        if (strcmp(d.space, "param") != 0 || d.unsized)
            return ptx_fail(p, d.name->line, "unknown kind of parameter");
        *list = ptx_grow(*list, (size_t)*n, sizeof **list);
        (*list)[(*n)++] = (formal_t){ptx_word(d.name), d.align, d.elems * ptx_type_bytes(d.type)};
    }
    return true;
}

/* .maxntid and other directives between a kernel's parameters and its body. */
static bool tuning(parser_t *p, function_t *f) {
    const token_t *t = here(p);
    bool threads = ptx_is(t, ".maxntid") || ptx_is(t, ".reqntid");
    if (!threads && !ptx_is(t, ".minnctapersm") && !ptx_is(t, ".maxnctapersm") && !ptx_is(t, ".maxnreg") &&
        !ptx_is(t, ".noreturn"))
        return ptx_fail(p, t->line, "unknown directive %.*s", (int)t->bytes, t->at);
    ++p->at;
    uint64_t product = 1, value;
    bool f32, f64;
    while (ptx_number(here(p), &value, &f32, &f64) || here(p)->kind == ',') {
        if (here(p)->kind != ',') product *= value;
        ++p->at;
    }
    if (threads) f->max_threads = (int)product;
    return true;
}

static bool function(parser_t *p, bool entry) {
    function_t f = {.entry = entry, .max_threads = 1024};
    ++p->at;
    bool ok = entry || here(p)->kind != '(' || formals(p, &f.results, &f.num_results);
    const token_t *name = here(p);
    ok = ok && need(p, 'w');
    if (ok) f.name = ptx_word(name);
    ok = ok && (here(p)->kind != '(' || formals(p, &f.params, &f.num_params));
    while (ok && here(p)->kind != '{' && here(p)->kind != ';') ok = tuning(p, &f);
    if (ok && eat(p, '{')) {
        f.first = p->at;
        for (int depth = 1; depth;) {
            char kind = here(p)->kind;
            if (!kind) {
                ok = ptx_fail(p, name->line, "the body of %s has no end", f.name);
                break;
            }
            depth += (kind == '{') - (kind == '}');
            ++p->at;
        }
        f.last = p->at - 1;
    } else if (ok) {
        ok = need(p, ';');
    }
    p->functions = ptx_grow(p->functions, (size_t)p->num_functions, sizeof f);
    p->functions[p->num_functions++] = f;
    return ok;
}

/* Debug information ends with its line. */
static void skip_line(parser_t *p) {
    uint32_t line = here(p)->line;
    while (here(p)->kind && here(p)->line == line) ++p->at;
}

static bool directive(parser_t *p) {
    const token_t *t = here(p);
    if (ptx_is(t, ".version") || ptx_is(t, ".target") || ptx_is(t, ".address_size") || ptx_is(t, ".file")) {
        skip_line(p);
        return true;
    }
    if (ptx_is(t, ".visible") || ptx_is(t, ".weak") || ptx_is(t, ".extern") || ptx_is(t, ".common")) {
        ++p->at;
        return true;
    }
    if (ptx_is(t, ".pragma")) {
        while (here(p)->kind && !eat(p, ';')) ++p->at;
        return true;
    }
    if (ptx_is(t, ".entry") || ptx_is(t, ".func")) return function(p, ptx_is(t, ".entry"));
    if (t->bytes > 2 && (memcmp(t->at, ".global", t->bytes < 7 ? t->bytes : 7) == 0 ||
                         memcmp(t->at, ".const", t->bytes < 6 ? t->bytes : 6) == 0 ||
                         memcmp(t->at, ".shared", t->bytes < 7 ? t->bytes : 7) == 0))
        return module_variable(p);
    return ptx_fail(p, t->line, "unknown directive %.*s", (int)t->bytes, t->at);
}

static void free_formals(formal_t *list, int n) {
    for (int i = 0; i < n; ++i) free(list[i].name);
    free(list);
}

static bool decode_kernels(parser_t *p) {
    for (int i = 0; i < p->num_functions; ++i) {
        const function_t *f = &p->functions[i];
        if (!f->entry || !f->first) continue;
        ptx_module_t *m = p->module;
        m->kernels = ptx_grow(m->kernels, (size_t)m->num_kernels, sizeof *m->kernels);
        ptx_kernel_t *k = &m->kernels[m->num_kernels++];
        *k = (ptx_kernel_t){.module = m};
        if (!ptx_decode(p, f, k)) return false;
    }
    return true;
}

ptx_module_t *ptx_parse(const char *text, char *error, size_t error_bytes) {
    ptx_module_t *m = calloc(1, sizeof *m);
    if (!m) abort();
    parser_t p = {.tokens = ptx_tokens(text), .module = m, .error = error, .error_bytes = error_bytes};
    bool ok = true;
    while (ok && here(&p)->kind) ok = directive(&p);
    ok = ok && decode_kernels(&p);
    m->initial = malloc(m->memory_bytes + 1);
    if (!m->initial) abort();
    if (m->memory) memcpy(m->initial, m->memory, m->memory_bytes);
    for (int i = 0; i < p.num_functions; ++i) {
        free(p.functions[i].name);
        free_formals(p.functions[i].params, p.functions[i].num_params);
        free_formals(p.functions[i].results, p.functions[i].num_results);
    }
    free(p.functions);
    free(p.tokens);
    if (ok) return m;
    ptx_free(m);
    return NULL;
}

void ptx_reset(ptx_module_t *m) {
    if (m->memory) memcpy(m->memory, m->initial, m->memory_bytes);
}

void ptx_free(ptx_module_t *m) {
    if (!m) return;
    for (int i = 0; i < m->num_kernels; ++i) {
        ptx_kernel_t *k = &m->kernels[i];
        free(k->name);
        free(k->params);
        free(k->code);
        free(k->fills);
        free(k->constants);
        free(k->constant_set);
        free(k->targets);
    }
    for (int i = 0; i < m->num_variables; ++i) free(m->variables[i].name);
    free(m->kernels);
    free(m->variables);
    free(m->memory);
    free(m->initial);
    free(m->spare);
    free(m);
}

const ptx_kernel_t *ptx_find(const ptx_module_t *m, const char *name) {
    for (int i = 0; i < m->num_kernels; ++i)
        if (strcmp(m->kernels[i].name, name) == 0) return &m->kernels[i];
    return NULL;
}

int ptx_num_kernels(const ptx_module_t *m) { return m->num_kernels; }
const ptx_kernel_t *ptx_kernel_at(const ptx_module_t *m, int i) { return &m->kernels[i]; }
const char *ptx_kernel_name(const ptx_kernel_t *k) { return k->name; }
int ptx_num_params(const ptx_kernel_t *k) { return k->num_params; }
size_t ptx_param_offset(const ptx_kernel_t *k, int i) { return k->params[i].offset; }
size_t ptx_param_size(const ptx_kernel_t *k, int i) { return k->params[i].bytes; }
size_t ptx_params_bytes(const ptx_kernel_t *k) { return k->params_bytes; }
size_t ptx_static_shared(const ptx_kernel_t *k) { return k->shared_bytes; }
size_t ptx_local_bytes(const ptx_kernel_t *k) { return k->local_bytes; }
int ptx_max_threads(const ptx_kernel_t *k) { return k->max_threads; }
int ptx_num_registers(const ptx_kernel_t *k) { return k->num_registers; }

bool ptx_variable(const ptx_module_t *m, const char *name, uint64_t *address, size_t *bytes,
                  unsigned char **host) {
    for (int i = 0; i < m->num_variables; ++i) {
        const variable_t *v = &m->variables[i];
        if ((v->space != SPACE_GLOBAL && v->space != SPACE_CONST) || strcmp(v->name, name) != 0) continue;
        *address = PTX_MODULE_WINDOW + v->offset;
        *bytes = v->bytes;
        *host = m->memory + v->offset;
        return true;
    }
    return false;
}
