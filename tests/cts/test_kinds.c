/* Every row of kinds.inc is complete: number, names, fields, arguments, attributes, a list that ends with a
 * reference, and a problem for the tests that hold for every kind alike. A kind's driver of benchdnn:
 * tests/benchdnn/control.c. */
#include <ctype.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "support/problems.h"

typedef struct {
    const char *name;
    int number;
    bool is_public;
} row_t;
static const row_t rows[] = {
#define DTP_KIND(name, number) {#name, number, true},
#define DTP_GRAPH_KIND(name, NAME, number) {#name, number, false},
#include "common/primitive/kinds.inc"
};
enum { ROWS = sizeof rows / sizeof *rows };

static dnnl_tp_primitive_kind_t kind_of(int row) { return (dnnl_tp_primitive_kind_t)rows[row].number; }

static void numbers_and_names_are_the_rows(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; ++i) {
        const dtp_op_info_t *info = dtp_op_info(kind_of(i));
        assert_non_null(info);
        assert_string_equal(info->name, rows[i].name);
        assert_int_equal(info->kind, rows[i].number);
        const char *shown = dnnl_tp_prim_kind2str(kind_of(i));
        assert_string_equal(shown, rows[i].is_public ? rows[i].name : "unknown prim_kind");
        for (int k = 0; k < i; ++k) assert_int_not_equal(rows[i].number, rows[k].number);
    }
    assert_null(dtp_op_info(dnnl_tp_undefined_primitive));
}

/* Arguments of a problem of zeros: each has a name, a direction and a descriptor inside the problem, or none. */
static void arguments_have_names(void **state) {
    (void)state;
    static union {
        dtp_op_desc_t op;
        char bytes[1 << 15];
    } zero;
    for (int i = 0; i < ROWS; ++i) {
        const dtp_op_info_t *info = dtp_op_info(kind_of(i));
        dtp_pd_arg_t args[DTP_MAX_PD_ARGS];
        const int n = dtp_op_args(info, &zero.op, NULL);
        assert_int_equal(dtp_op_args(info, &zero.op, args), n);
        assert_true(n > 0 && info->nfields > 0);
        unsigned seen = 0;
        for (int a = 0; a < n; ++a) {
            char text[DTP_ARG_TEXT];
            assert_false(isdigit((unsigned char)*dtp_arg_text(args[a].arg, text)));
            assert_true(args[a].flags == DTP_ARG_INPUT || args[a].flags == DTP_ARG_OUTPUT);
            assert_non_null(args[a].md);
            seen |= args[a].flags;
            for (int b = 0; b < a; ++b) assert_int_not_equal(args[a].arg, args[b].arg);
        }
        assert_true(seen & DTP_ARG_OUTPUT);
        if (info->inplace >= 0 && info->inplace < n) /* sum of nothing has no source */
            assert_int_equal(args[info->inplace].flags, DTP_ARG_INPUT);
        for (int f = 0; f < info->nfields; ++f)
            for (int g = 0; g < f; ++g)
                assert_false(info->fields[f].offset == info->fields[g].offset &&
                             info->fields[f].type == info->fields[g].type);
    }
}

static void attributes_of_public_kinds_have_rules(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; ++i) assert_int_equal(dtp_op_info(kind_of(i))->attr != NULL, rows[i].is_public);
}

/* A reference comes last. Kinds that only graphs have may do without one, if what they have runs on every processor. */
static void lists_end_with_what_serves_all(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int i = 0; i < ROWS; ++i) {
        const dtp_impl_t *const *list = engine->v->impl_list(kind_of(i));
        assert_non_null(list);
        for (int k = 0; list[k]; ++k) {
            const bool is_last = !list[k + 1], is_reference = dtp_impl_is_reference(list[k]);
            assert_int_equal(is_reference, !strncmp(list[k]->name, "ref:", 4)); /* as verbose lines say */
            if ((is_reference && !is_last) || (is_last && rows[i].is_public && !is_reference) ||
                !list[k]->pd_init || !list[k]->execute)
                fail_msg("%s: %s", rows[i].name, list[k]->name);
            if (is_last) assert_int_equal(list[k]->isa, 0);
        }
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

static void public_kinds_have_a_problem(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int i = 0; i < ROWS; ++i) {
        int found = 0;
        for (int p = 0; p < PROBLEMS; ++p) {
            dnnl_tp_primitive_desc_t pd;
            CHECK_OK(problem_make(&pd, engine, p, NULL));
            found += pd->info->kind == kind_of(i);
            CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        }
        if (rows[i].is_public != (found > 0)) fail_msg("%s has %d problems", rows[i].name, found);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

/* Each implementation's plan has the bytes that it uses, whichever came before it, and so has a clone's. */
static void plans_have_their_bytes(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int i = 0; i < PROBLEMS; ++i) {
        dnnl_tp_primitive_desc_t pd, clone;
        CHECK_OK(problem_make(&pd, engine, i, NULL));
        do {
            const dtp_impl_t *impl = pd->impl;
            const size_t used = impl->plan_used ? impl->plan_used(pd->plan) : impl->plan_size;
            CHECK_OK(dnnl_tp_primitive_desc_clone(&clone, pd));
            if (pd->plan_bytes != used || clone->plan_bytes != used || used > impl->plan_size)
                fail_msg("%s, %s: %d and %d bytes, not %d of %d", problem_name(i), impl->name,
                         (int)pd->plan_bytes, (int)clone->plan_bytes, (int)used, (int)impl->plan_size);
            if (used) assert_memory_equal(clone->plan, pd->plan, used);
            CHECK_OK(dnnl_tp_primitive_desc_destroy(clone));
        } while (dnnl_tp_primitive_desc_next_impl(pd) == dnnl_tp_success);
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

/* A descriptor is planned once: a primitive has its plan, here marked by scratch that nobody books, and so has
 * a clone; both are descriptors of their own. */
static void a_miss_plans_nothing(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    int capacity;
    CHECK_OK(dnnl_tp_get_primitive_cache_capacity(&capacity));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int i = 0; i < PROBLEMS; ++i) {
        dnnl_tp_primitive_desc_t pd, clone;
        dnnl_tp_primitive_t p;
        CHECK_OK(problem_make(&pd, engine, i, NULL));
        pd->scratch_per_slot += DTP_CACHE_LINE;
        CHECK_OK(dnnl_tp_primitive_create(&p, pd));
        CHECK_OK(dnnl_tp_primitive_desc_clone(&clone, pd));
        const dtp_pd_t *const copies[] = {p->pd, clone};
        for (int k = 0; k < 2; ++k) {
            const dtp_pd_t *copy = copies[k];
            assert_ptr_not_equal(copy, pd);
            assert_ptr_equal(copy->impl, pd->impl);
            assert_int_equal(copy->impl_index, pd->impl_index);
            assert_int_equal(copy->scratch_per_slot, pd->scratch_per_slot);
            assert_int_equal(copy->scratch_shared, pd->scratch_shared);
            assert_int_equal(copy->num_threads, pd->num_threads);
            assert_memory_equal(copy->op, pd->op, pd->op_size);
            assert_int_equal(copy->plan_bytes, pd->plan_bytes);
            if (pd->plan_bytes) assert_memory_equal(copy->plan, pd->plan, pd->plan_bytes);
            for (int a = 0; a < pd->nargs; ++a) {
                assert_true(copy->arg_identity[a] == pd->arg_identity[a]);
                if (pd->arg_bytes[a]) assert_ptr_not_equal(copy->args[a].md, pd->args[a].md);
            }
        }
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(clone));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(capacity));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_and_names_are_the_rows),
                                       cmocka_unit_test(arguments_have_names),
                                       cmocka_unit_test(attributes_of_public_kinds_have_rules),
                                       cmocka_unit_test(lists_end_with_what_serves_all),
                                       cmocka_unit_test(public_kinds_have_a_problem),
                                       cmocka_unit_test(plans_have_their_bytes),
                                       cmocka_unit_test(a_miss_plans_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
