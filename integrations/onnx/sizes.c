/* The algebra of open sizes, see sizes.h. */
#include "onnx/sizes.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SUMS = 1 << 14, MOST_GUARDS = 1 << 12 };

void dtp_sizes_init(dtp_sizes_t *s) {
    *s = (dtp_sizes_t){0};
    dtp_import_memory_init(&s->memory);
}

void dtp_sizes_free(dtp_sizes_t *s) { dtp_import_memory_free(&s->memory); }

/* ---- Arithmetic of numbers --------------------------------------------------------------------------------- */

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static bool atom_value(const dtp_sizes_t *s, const dtp_atom_t *x, const int64_t *values, int64_t *value) {
    int64_t a, b;
    if (!dtp_size_value(s, x->a, values, &a) || !dtp_size_value(s, x->b, values, &b)) return false;
    switch (x->kind) {
    case DTP_SIZE_QUOTIENT:
        if (b <= 0) return false;
        *value = floor_of(a, b);
        return true;
    case DTP_SIZE_LEAST: *value = a < b ? a : b; return true;
    default: *value = a > b ? a : b; return true;
    }
}

static bool sum_value(int n, const dtp_term_t *terms, const int64_t *values, int64_t *value) {
    *value = 0;
    for (int i = 0; i < n; ++i) {
        int64_t product = terms[i].factor;
        for (int k = 0; k < terms[i].natoms; ++k)
            if (__builtin_mul_overflow(product, values[terms[i].atom[k]], &product)) return false;
        if (__builtin_add_overflow(*value, product, value)) return false;
    }
    return true;
}

bool dtp_size_value(const dtp_sizes_t *s, dtp_size_t a, const int64_t *values, int64_t *value) {
    return sum_value(s->sums[a].nterms, s->sums[a].terms, values, value);
}

bool dtp_sizes_bind(const dtp_sizes_t *s, const dnnl_tp_tensor_info_t *const *shapes, int64_t *values) {
    for (int i = 0; i < s->natoms; ++i) {
        const dtp_atom_t *x = &s->atoms[i];
        if (x->kind == DTP_SIZE_SYMBOL) {
            if (!shapes[x->a] || shapes[x->a]->ndims <= x->b) return false;
            values[i] = shapes[x->a]->dims[x->b];
        } else if (!atom_value(s, x, values, &values[i])) return false;
    }
    return true;
}

static bool holds(dtp_relation_t relation, int64_t a, int64_t b) {
    switch (relation) {
    case DTP_SIZE_EQUAL: return a == b;
    case DTP_SIZE_DIFFERS: return a != b;
    case DTP_SIZE_AT_MOST: return a <= b;
    default: return b > 0 && a % b == 0;
    }
}

int dtp_sizes_check(const dtp_sizes_t *s, const int64_t *values) {
    for (int i = 0; i < s->nguards; ++i) {
        const dtp_guard_t *g = &s->guards[i];
        int64_t a, b;
        if (!dtp_size_value(s, g->a, values, &a) || !dtp_size_value(s, g->b, values, &b) ||
            !holds(g->relation, a, b))
            return i;
    }
    return -1;
}

/* ---- The normal form ----------------------------------------------------------------------------------------- */

/* Order of products: of fewer atoms first, so that a number is the first term. */
static int compare(const dtp_term_t *x, const dtp_term_t *y) {
    if (x->natoms != y->natoms) return x->natoms < y->natoms ? -1 : 1;
    for (int i = 0; i < x->natoms; ++i)
        if (x->atom[i] != y->atom[i]) return x->atom[i] < y->atom[i] ? -1 : 1;
    return 0;
}

static bool same_terms(int n, const dtp_term_t *x, const dtp_term_t *y) {
    for (int i = 0; i < n; ++i)
        if (x[i].factor != y[i].factor || compare(&x[i], &y[i])) return false;
    return true;
}

/* Adds a term to n sorted ones; -1: there are too many, or a factor overflows, as n < 0 says. */
static int put_term(int n, dtp_term_t *terms, const dtp_term_t *x) {
    int at = 0;
    if (n < 0) return -1;
    while (at < n && compare(&terms[at], x) < 0) ++at;
    if (at < n && compare(&terms[at], x) == 0) {
        if (__builtin_add_overflow(terms[at].factor, x->factor, &terms[at].factor)) return -1;
        if (terms[at].factor) return n;
        memmove(terms + at, terms + at + 1, (size_t)(n - at - 1) * sizeof *terms);
        return n - 1;
    }
    if (!x->factor) return n;
    if (n == DTP_SIZE_TERMS) return -1;
    memmove(terms + at + 1, terms + at, (size_t)(n - at) * sizeof *terms);
    terms[at] = *x;
    return n + 1;
}

/* A lower bound, INT64_MIN: none. Where all factors are positive the least values of the atoms give it. */
static int64_t least_of(const dtp_sizes_t *s, int n, const dtp_term_t *terms) {
    int64_t sum = 0;
    for (int i = 0; i < n; ++i) {
        int64_t product = terms[i].factor;
        if (product < 0 && terms[i].natoms) return INT64_MIN;
        for (int k = 0; k < terms[i].natoms; ++k) {
            const int64_t least = s->atoms[terms[i].atom[k]].least;
            if (least < 0 || __builtin_mul_overflow(product, least, &product)) return INT64_MIN;
        }
        if (__builtin_add_overflow(sum, product, &sum)) return INT64_MIN;
    }
    return sum;
}

/* Room for one more. */
static bool has_room(dtp_sizes_t *s, void **array, int *capacity, int n, size_t size) {
    if (dtp_import_grow(&s->memory, array, capacity, n + 1, size)) s->lacks_memory = true;
    return !s->lacks_memory;
}

/* The expression of n sorted terms; n < 0: DTP_NO_SIZE. */
static dtp_size_t sum_of(dtp_sizes_t *s, int n, const dtp_term_t *terms) {
    if (n < 0) return DTP_NO_SIZE;
    for (int i = 0; i < s->nsums; ++i)
        if (s->sums[i].nterms == n && same_terms(n, s->sums[i].terms, terms)) return i;
    int64_t hint = 0;
    for (int i = 0; i < n; ++i) {
        int64_t product = terms[i].factor;
        for (int k = 0; k < terms[i].natoms; ++k)
            if (__builtin_mul_overflow(product, s->atoms[terms[i].atom[k]].hint, &product))
                return DTP_NO_SIZE;
        if (__builtin_add_overflow(hint, product, &hint)) return DTP_NO_SIZE;
    }
    if (s->nsums >= MOST_SUMS) return DTP_NO_SIZE;
    dtp_term_t *copy = dtp_import_alloc(&s->memory, (size_t)(n + 1) * sizeof *copy);
    if (!copy || !has_room(s, (void **)&s->sums, &s->cap_sums, s->nsums, sizeof *s->sums)) {
        s->lacks_memory = true;
        return DTP_NO_SIZE;
    }
    if (n) memcpy(copy, terms, (size_t)n * sizeof *copy);
    s->sums[s->nsums] = (dtp_sum_t){n, copy, hint, least_of(s, n, terms)};
    return s->nsums++;
}

dtp_size_t dtp_size_of_atom(dtp_sizes_t *s, int atom) {
    const dtp_term_t term = {1, 1, {atom}};
    return sum_of(s, 1, &term);
}

static dtp_size_t atom_of(dtp_sizes_t *s, const dtp_atom_t *x) {
    int at = 0;
    while (at < s->natoms &&
           (s->atoms[at].kind != x->kind || s->atoms[at].a != x->a || s->atoms[at].b != x->b))
        ++at;
    if (at == s->natoms) {
        if (!has_room(s, (void **)&s->atoms, &s->cap_atoms, at, sizeof *s->atoms)) return DTP_NO_SIZE;
        s->atoms[s->natoms++] = *x;
    }
    return dtp_size_of_atom(s, at);
}

bool dtp_size_is_number(const dtp_sizes_t *s, dtp_size_t a) {
    return a >= 0 && (s->sums[a].nterms == 0 || (s->sums[a].nterms == 1 && !s->sums[a].terms->natoms));
}

dtp_size_t dtp_size_number(dtp_sizes_t *s, int64_t value) {
    const dtp_term_t term = {value, 0, {0}};
    return sum_of(s, value != 0, &term);
}

/* a + factor * b */
static dtp_size_t add_times(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b, int64_t factor) {
    dtp_term_t terms[DTP_SIZE_TERMS];
    if (a < 0 || b < 0) return DTP_NO_SIZE;
    int n = s->sums[a].nterms;
    memcpy(terms, s->sums[a].terms, (size_t)n * sizeof *terms);
    for (int i = 0; i < s->sums[b].nterms && n >= 0; ++i) {
        dtp_term_t x = s->sums[b].terms[i];
        if (__builtin_mul_overflow(x.factor, factor, &x.factor)) return DTP_NO_SIZE;
        n = put_term(n, terms, &x);
    }
    return sum_of(s, n, terms);
}

dtp_size_t dtp_size_add(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b) { return add_times(s, a, b, 1); }
dtp_size_t dtp_size_subtract(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b) { return add_times(s, a, b, -1); }

/* False: it has too many atoms, or the factor overflows. */
static bool multiply_terms(const dtp_term_t *x, const dtp_term_t *y, dtp_term_t *to) {
    *to = (dtp_term_t){.natoms = x->natoms + y->natoms};
    if (to->natoms > DTP_SIZE_DEGREE || __builtin_mul_overflow(x->factor, y->factor, &to->factor))
        return false;
    for (int i = 0, k = 0; i + k < to->natoms;)
        if (k == y->natoms || (i < x->natoms && x->atom[i] <= y->atom[k])) to->atom[i + k] = x->atom[i], ++i;
        else to->atom[i + k] = y->atom[k], ++k;
    return true;
}

dtp_size_t dtp_size_multiply(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b) {
    dtp_term_t terms[DTP_SIZE_TERMS], x;
    int n = 0;
    if (a < 0 || b < 0) return DTP_NO_SIZE;
    for (int i = 0; i < s->sums[a].nterms; ++i)
        for (int k = 0; k < s->sums[b].nterms; ++k) {
            if (!multiply_terms(&s->sums[a].terms[i], &s->sums[b].terms[k], &x)) return DTP_NO_SIZE;
            n = put_term(n, terms, &x);
            if (n < 0) return DTP_NO_SIZE;
        }
    return sum_of(s, n, terms);
}

/* x / y; false: that is no term. */
static bool divide_term(const dtp_term_t *x, const dtp_term_t *y, dtp_term_t *to) {
    if (x->factor % y->factor) return false;
    *to = (dtp_term_t){.factor = x->factor / y->factor};
    int k = 0;
    for (int i = 0; i < x->natoms; ++i)
        if (k < y->natoms && x->atom[i] == y->atom[k]) ++k;
        else to->atom[to->natoms++] = x->atom[i];
    return k == y->natoms;
}

/* By a single term, whose atoms are not 0; and what is divided by itself. */
dtp_size_t dtp_size_exact(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b) {
    if (a < 0 || b < 0 || s->sums[b].least < 1) return DTP_NO_SIZE;
    if (a == b) return dtp_size_number(s, 1);
    if (s->sums[b].nterms != 1) return DTP_NO_SIZE;
    dtp_term_t terms[DTP_SIZE_TERMS], x;
    int n = 0;
    for (int i = 0; i < s->sums[a].nterms; ++i) {
        if (!divide_term(&s->sums[a].terms[i], s->sums[b].terms, &x)) return DTP_NO_SIZE;
        n = put_term(n, terms, &x);
    }
    return sum_of(s, n, terms);
}

dtp_size_t dtp_size_divide(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b) {
    if (a < 0 || b < 0 || s->sums[b].least < 1) return DTP_NO_SIZE;
    if (dtp_size_is_number(s, a) && dtp_size_is_number(s, b))
        return dtp_size_number(s, floor_of(s->sums[a].hint, s->sums[b].hint));
    const dtp_size_t exact = dtp_size_exact(s, a, b);
    if (exact >= 0) return exact;
    /* (b x + y) / b = x + y / b */
    dtp_term_t whole[DTP_SIZE_TERMS], rest[DTP_SIZE_TERMS], x;
    int n = 0, nrest = 0;
    for (int i = 0; i < s->sums[a].nterms; ++i)
        if (s->sums[b].nterms == 1 && divide_term(&s->sums[a].terms[i], s->sums[b].terms, &x))
            n = put_term(n, whole, &x);
        else rest[nrest++] = s->sums[a].terms[i];
    const dtp_size_t left = sum_of(s, nrest, rest), front = sum_of(s, n, whole);
    if (left < 0 || front < 0) return DTP_NO_SIZE;
    if (n) return dtp_size_add(s, front, dtp_size_divide(s, left, b));
    return atom_of(s, &(dtp_atom_t){.kind = DTP_SIZE_QUOTIENT,
                                    .a = a,
                                    .b = b,
                                    .hint = floor_of(s->sums[a].hint, s->sums[b].hint),
                                    .least = s->sums[a].least >= 0 ? 0 : INT64_MIN});
}

dtp_size_t dtp_size_bound(dtp_sizes_t *s, dtp_atom_kind_t kind, dtp_size_t a, dtp_size_t b) {
    if (a < 0 || b < 0) return DTP_NO_SIZE;
    const dtp_size_t more = dtp_size_subtract(s, a, b), less = dtp_size_subtract(s, b, a);
    if (more >= 0 && s->sums[more].least >= 0) return kind == DTP_SIZE_MOST ? a : b;
    if (less >= 0 && s->sums[less].least >= 0) return kind == DTP_SIZE_MOST ? b : a;
    const dtp_sum_t *x = &s->sums[a < b ? a : b], *y = &s->sums[a < b ? b : a];
    const bool first = (x->hint < y->hint) == (kind == DTP_SIZE_LEAST),
               bound = (x->least < y->least) == (kind == DTP_SIZE_LEAST);
    return atom_of(s, &(dtp_atom_t){.kind = kind,
                                    .a = a < b ? a : b,
                                    .b = a < b ? b : a,
                                    .hint = first ? x->hint : y->hint,
                                    .least = bound ? x->least : y->least});
}

/* ---- Guards ---------------------------------------------------------------------------------------------------- */

static bool leave(dtp_sizes_t *s, dtp_size_t a, dtp_relation_t relation, dtp_size_t b, const char *node) {
    if (a < 0 || b < 0) return false;
    for (int i = 0; i < s->nguards; ++i)
        if (s->guards[i].relation == relation && s->guards[i].a == a && s->guards[i].b == b) return true;
    if (s->nguards >= MOST_GUARDS ||
        !has_room(s, (void **)&s->guards, &s->cap_guards, s->nguards, sizeof *s->guards))
        return false;
    s->guards[s->nguards++] = (dtp_guard_t){relation, a, b, node};
    return true;
}

/* What is known of a - b whatever the symbols: it is at least that; INT64_MIN: nothing. */
static int64_t least_difference(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b) {
    const dtp_size_t d = dtp_size_subtract(s, a, b);
    return d < 0 ? INT64_MIN : s->sums[d].least;
}

int dtp_size_is(dtp_sizes_t *s, dtp_size_t a, dtp_relation_t relation, dtp_size_t b, const char *node) {
    if (a < 0 || b < 0) return -1;
    const bool is = holds(relation, s->sums[a].hint, s->sums[b].hint);
    if (dtp_size_is_number(s, a) && dtp_size_is_number(s, b)) return is;
    switch (relation) {
    case DTP_SIZE_EQUAL:
        if (a == b) return 1;
        if (least_difference(s, a, b) > 0 || least_difference(s, b, a) > 0) return 0;
        return leave(s, a, is ? DTP_SIZE_EQUAL : DTP_SIZE_DIFFERS, b, node) ? is : -1;
    case DTP_SIZE_AT_MOST:
        if (least_difference(s, b, a) >= 0) return 1;
        if (least_difference(s, a, b) > 0) return 0;
        if (is) return leave(s, a, relation, b, node) ? 1 : -1;
        return leave(s, dtp_size_add(s, b, dtp_size_number(s, 1)), relation, a, node) ? 0 : -1;
    case DTP_SIZE_DIVIDED:
        if (dtp_size_exact(s, a, b) >= 0) return 1;
        return is && leave(s, a, relation, b, node) ? 1 : -1;
    default: return -1;
    }
}

dtp_size_t dtp_size_symbol(dtp_sizes_t *s, int input, int dim, int64_t hint, const char *node) {
    const dtp_size_t x = atom_of(s, &(dtp_atom_t){DTP_SIZE_SYMBOL, input, dim, hint, 0}),
                     two = dtp_size_number(s, 2);
    if (x < 0 || two < 0) return DTP_NO_SIZE;
    if (hint < 2) {
        const dtp_size_t number = dtp_size_number(s, hint);
        return leave(s, x, DTP_SIZE_EQUAL, number, node) ? number : DTP_NO_SIZE;
    }
    if (!leave(s, two, DTP_SIZE_AT_MOST, x, node)) return DTP_NO_SIZE;
    s->atoms[s->sums[x].terms->atom[0]].least = s->sums[x].least = 2;
    return x;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

static size_t say(char *text, size_t room, size_t n, const char *word) {
    const size_t length = strlen(word);
    if (n + length + 1 > room) return n;
    memcpy(text + n, word, length + 1);
    return n + length;
}

static size_t say_sum(const dtp_sizes_t *s, dtp_size_t a, const char *const *names, char *text, size_t room,
                      size_t n);

static size_t say_atom(const dtp_sizes_t *s, const dtp_atom_t *x, const char *const *names, char *text,
                       size_t room, size_t n) {
    static const char *const open[] = {"", "(", "min(", "max("}, *const between[] = {"", ") / (", ", ", ", "};
    char number[32];
    if (x->kind == DTP_SIZE_SYMBOL) {
        (void)snprintf(number, sizeof number, ".%d", (int)x->b);
        return say(text, room, say(text, room, n, names[x->a]), number);
    }
    n = say_sum(s, x->a, names, text, room, say(text, room, n, open[x->kind]));
    n = say_sum(s, x->b, names, text, room, say(text, room, n, between[x->kind]));
    return say(text, room, n, ")");
}

static size_t say_sum(const dtp_sizes_t *s, dtp_size_t a, const char *const *names, char *text, size_t room,
                      size_t n) {
    char number[32];
    if (!s->sums[a].nterms) return say(text, room, n, "0");
    for (int i = s->sums[a].nterms - 1; i >= 0; --i) {
        const dtp_term_t *t = &s->sums[a].terms[i];
        const bool is_first = i == s->sums[a].nterms - 1,
                   is_less = !is_first && t->factor < 0 && t->factor > INT64_MIN;
        const int64_t factor = is_less ? -t->factor : t->factor;
        if (!is_first) n = say(text, room, n, is_less ? " - " : " + ");
        if (factor != 1 || !t->natoms) {
            (void)snprintf(number, sizeof number, "%lld%s", (long long)factor, t->natoms ? "*" : "");
            n = say(text, room, n, number);
        }
        for (int k = 0; k < t->natoms; ++k)
            n = say_atom(s, &s->atoms[t->atom[k]], names, text, room, k ? say(text, room, n, "*") : n);
    }
    return n;
}

void dtp_size_text(const dtp_sizes_t *s, dtp_size_t a, const char *const *names, char *text, size_t room) {
    if (room) *text = 0;
    (void)say_sum(s, a, names, text, room, 0);
}
