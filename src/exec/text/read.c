/* Reads the text form of graphs: statements, one function each. The building calls check everything that is
 * not grammar; their errors get the place in the text in front. Nesting is limited by
 * dnnl_tp_graph_create_region(). */
#include "exec/text/text.h"

/* ---- Inputs, constants, functions -------------------------------------------------------------------- */

static dnnl_tp_status_t read_declaration(dtp_text_reader_t *r, dtp_token_t *name, dnnl_tp_tensor_info_t *info,
                                         const char **text) {
    *name = r->token;
    if (name->kind != DTP_TOKEN_VALUE) return dtp_text_fail(r, name->at, "a %%value is needed");
    DTP_TRY(dtp_text_next(r));
    DTP_TRY(dtp_text_expect(r, ':'));
    DTP_TRY(dtp_text_type(r, info));
    return dtp_text_string(r, text);
}

static dnnl_tp_status_t read_input(dtp_text_reader_t *r) {
    dtp_token_t name;
    dnnl_tp_tensor_info_t info;
    const char *text;
    int32_t v;
    DTP_TRY(read_declaration(r, &name, &info, &text));
    DTP_TRY(dtp_text_blame(r, name.at,
                           dnnl_tp_graph_input(r->graph, &v, text, info.data_type, info.ndims, info.dims)));
    return dtp_text_define(r, &name, v);
}

static void drop_data(void *data) { dtp_free(NULL, data); }

static dnnl_tp_status_t read_constant(dtp_text_reader_t *r, dnnl_tp_graph_t region) {
    dtp_token_t name;
    dnnl_tp_tensor_info_t info;
    const char *text, *recipe;
    int32_t v;
    DTP_TRY(read_declaration(r, &name, &info, &text));
    DTP_TRY(dtp_text_expect(r, '='));
    DTP_TRY(dtp_text_blame(r, name.at, dtp_info_check(&info, false, "constant", text)));
    size_t bytes = dtp_info_bytes(&info);
    if (bytes > r->constant_bytes)
        return dtp_text_fail(r, name.at, "constants need more than %zu bytes", r->opts->max_constant_bytes);
    r->constant_bytes -= bytes;
    void *data = dtp_alloc(NULL, bytes ? bytes : 1, DTP_CACHE_LINE);
    if (!data) return dtp_no_memory(bytes);
    dnnl_tp_status_t status = dtp_text_read_data(r, &info, data, &recipe);
    if (status != dnnl_tp_success) {
        drop_data(data);
        return status;
    }
    DTP_TRY(dtp_text_blame(r, name.at,
                           dnnl_tp_graph_constant(region, &v, text, info.data_type, info.ndims, info.dims,
                                                  data, DNNL_TP_CONSTANT_BORROW, drop_data, data)));
    dtp_graph_t *g = region->root;
    if (recipe && !(g->values[v].constant->recipe = dtp_arena_text(&g->arena, recipe)))
        return dnnl_tp_out_of_memory;
    return dtp_text_define(r, &name, v);
}

static dnnl_tp_status_t read_function(dtp_text_reader_t *r) {
    dtp_token_t name = r->token;
    const char *text;
    dtp_text_list_t in, out = {0};
    if (name.kind != DTP_TOKEN_FUNCTION) return dtp_text_fail(r, name.at, "a @function is needed");
    DTP_TRY(dtp_text_next(r));
    DTP_TRY(dtp_text_string(r, &text));
    DTP_TRY(dtp_text_expect(r, '('));
    DTP_TRY(dtp_text_names(r, &in));
    if (!in.typed) return dtp_text_fail(r, name.at, "parameters need types");
    DTP_TRY(dtp_text_expect(r, ')'));
    if (r->token.kind != DTP_TOKEN_ARROW) return dtp_text_fail(r, r->token.at, "-> is needed");
    DTP_TRY(dtp_text_next(r));
    DTP_TRY(dtp_text_expect(r, '('));
    DTP_TRY(dtp_text_list_grow(r, &out));
    for (bool more = !dtp_text_is(r, ')'); more;) {
        DTP_TRY(dtp_text_list_grow(r, &out));
        DTP_TRY(dtp_text_type(r, &out.infos[out.n++]));
        DTP_TRY(dtp_text_accept(r, ',', &more));
    }
    DTP_TRY(dtp_text_expect(r, ')'));
    DTP_TRY(dtp_arena_grow(&r->arena, (void **)&r->functions, &r->cap_functions, r->nfunctions + 1,
                           sizeof *r->functions));
    dtp_text_function_t *f = &r->functions[r->nfunctions];
    DTP_TRY(dtp_text_blame(r, name.at,
                           dnnl_tp_graph_create_function(&f->handle, r->graph, text, in.n, in.infos,
                                                         in.values, out.n, out.infos)));
    f->defined = false;
    DTP_TRY(dtp_text_define(r, &name, r->nfunctions++));
    return dtp_text_bind(r, &in);
}

/* ---- Operators --------------------------------------------------------------------------------------- */

/* A block of statements up to a word that ends it, and the values behind that. */
static dnnl_tp_status_t read_block(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *last,
                                   dtp_text_list_t *values);

/* Is an attribute next: name = ? */
static dnnl_tp_status_t at_attribute(const dtp_text_reader_t *r, bool *is) {
    *is = false;
    if (r->token.kind != DTP_TOKEN_WORD) return dnnl_tp_success;
    dtp_text_reader_t ahead = *r;
    DTP_TRY(dtp_text_next(&ahead));
    *is = dtp_text_is(&ahead, '=');
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_attribute(dtp_text_reader_t *r, const dtp_op_row_t *row,
                                       dnnl_tp_op_attr_t *attr) {
    dtp_token_t name = r->token;
    int count;
    const dtp_op_field_t *f = dtp_op_fields(row, &count), *key = NULL;
    for (int k = 0; k < count; ++k)
        if (f[k].key != DTP_ATTR_FIXED && dtp_text_is_word(r, f[k].name)) key = &f[k];
    if (!key)
        return dtp_text_blame(r, name.at,
                              dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR,
                                       "%s has no attribute %.*s", row->name, (int)name.size, name.at));
    DTP_TRY(dtp_text_next(r));
    DTP_TRY(dtp_text_expect(r, '='));
    int64_t *data = dtp_arena_alloc(&r->arena, sizeof *data * (size_t)(key->most ? key->most : 1));
    if (!data) return dnnl_tp_out_of_memory;
    *attr = (dnnl_tp_op_attr_t){key->key, key->type, 1, data};
    if (key->most) {
        bool more;
        attr->count = 0;
        DTP_TRY(dtp_text_expect(r, '['));
        for (more = !dtp_text_is(r, ']'); more;) {
            if (attr->count == key->most)
                return dtp_text_fail(r, r->token.at, "more than %d elements", key->most);
            DTP_TRY(dtp_text_integer(r, &data[attr->count++]));
            DTP_TRY(dtp_text_accept(r, ',', &more));
        }
        return dtp_text_expect(r, ']');
    }
    if (key->type == dnnl_tp_op_attr_s64) return dtp_text_integer(r, data);
    if (key->type == dnnl_tp_op_attr_f32) return dtp_text_element(r, dnnl_tp_f32, data, 0);
    if (key->type == dnnl_tp_op_attr_bool) {
        bool yes;
        DTP_TRY(dtp_text_accept_word(r, "true", &yes));
        *(uint8_t *)data = yes;
        return yes ? dnnl_tp_success : dtp_text_expect_word(r, "false");
    }
    const char *text;
    DTP_TRY(dtp_text_string(r, &text));
    attr->data = text;
    attr->count = (int)strlen(text);
    return dnnl_tp_success;
}

/* "after (...)" and "target"; applied once the operator is there. */
typedef struct {
    dtp_text_list_t before;
    bool target;
} order_t;

static dnnl_tp_status_t read_order(dtp_text_reader_t *r, order_t *o) {
    bool after;
    *o = (order_t){.target = false};
    DTP_TRY(dtp_text_accept_word(r, "after", &after));
    if (after) DTP_TRY(dtp_text_inputs(r, &o->before));
    return dtp_text_accept_word(r, "target", &o->target);
}

static dnnl_tp_status_t apply_order(const dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *at,
                                    const order_t *o, const dtp_text_list_t *out) {
    if ((o->before.n || o->target) && out->n == 0)
        return dtp_text_fail(r, at, "only operators with results have an order or are targets");
    for (int i = 0; i < o->before.n; ++i)
        DTP_TRY(dtp_text_blame(
            r, at, dnnl_tp_graph_control_dependency(region, o->before.values[i], out->values[0])));
    return o->target ? dtp_text_blame(r, at, dnnl_tp_graph_target(region, out->values[0])) : dnnl_tp_success;
}

static dnnl_tp_status_t read_op(dtp_text_reader_t *r, dnnl_tp_graph_t region, const dtp_op_row_t *row,
                                const char *at, const dtp_text_list_t *out) {
    const char *text;
    dtp_text_list_t in;
    order_t order;
    dnnl_tp_op_attr_t attr[8 * sizeof(uint32_t)]; /* as many as dtp_op_attrs_t can mark */
    int nattr = 0;
    DTP_TRY(dtp_text_string(r, &text));
    DTP_TRY(dtp_text_inputs(r, &in));
    for (bool more;;) {
        DTP_TRY(at_attribute(r, &more));
        if (!more) break;
        if (nattr == (int)(sizeof attr / sizeof *attr))
            return dtp_text_fail(r, r->token.at, "too many attributes");
        DTP_TRY(read_attribute(r, row, &attr[nattr++]));
    }
    DTP_TRY(read_order(r, &order));
    DTP_TRY(dtp_text_blame(r, at,
                           dnnl_tp_graph_op(region, (dnnl_tp_op_kind_t)row->kind, text, in.n, in.values,
                                            nattr, attr, out->n, out->values)));
    return apply_order(r, region, at, &order, out);
}

static dnnl_tp_status_t read_host(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *at,
                                  const dtp_text_list_t *out) {
    const char *text;
    dtp_text_list_t in;
    order_t order;
    bool may_block, may_wait = false, priced;
    int64_t cost_ns = 0;
    dnnl_tp_graph_closure_t closure = {NULL, NULL, NULL};
    DTP_TRY(dtp_text_string(r, &text));
    DTP_TRY(dtp_text_inputs(r, &in));
    DTP_TRY(dtp_text_accept_word(r, "may_block", &may_block));
    if (!may_block) DTP_TRY(dtp_text_accept_word(r, "may_wait", &may_wait));
    DTP_TRY(dtp_text_accept_word(r, "cost", &priced));
    if (priced) {
        DTP_TRY(dtp_text_expect(r, '='));
        DTP_TRY(dtp_text_integer(r, &cost_ns));
    }
    if (priced && out->n == 0) return dtp_text_fail(r, at, "only closures with results have a cost");
    DTP_TRY(read_order(r, &order));
    if (!out->typed) return dtp_text_fail(r, at, "the results of host closure '%.64s' need types", text);
    if (!r->opts->resolve)
        return dtp_text_fail(r, at, "host closure '%.64s' is a function of a program; nobody here knows it",
                             text);
    dnnl_tp_status_t status = r->opts->resolve(r->opts->resolve_arg, text, in.n, out->n, &closure);
    if (status != dnnl_tp_success) {
        (void)dtp_text_fail(r, at, "host closure '%.64s' is not known", text);
        return status;
    }
    DTP_TRY(dtp_text_blame(r, at,
                           dnnl_tp_graph_host(region, closure.fn, closure.arg, closure.drop,
                                              may_block  ? DNNL_TP_HOST_MAY_BLOCK
                                              : may_wait ? DNNL_TP_HOST_MAY_WAIT
                                                         : 0,
                                              text, in.n, in.values, out->n, out->infos, out->values)));
    if (priced) DTP_TRY(dtp_text_blame(r, at, dnnl_tp_graph_host_cost(region, out->values[0], cost_ns)));
    return apply_order(r, region, at, &order, out);
}

static dnnl_tp_status_t read_call(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *at,
                                  const dtp_text_list_t *out) {
    const char *text;
    dtp_text_list_t in;
    order_t order;
    int32_t f;
    DTP_TRY(dtp_text_string(r, &text));
    DTP_TRY(dtp_text_lookup(r, DTP_TOKEN_FUNCTION, &f));
    DTP_TRY(dtp_text_inputs(r, &in));
    DTP_TRY(read_order(r, &order));
    DTP_TRY(dtp_text_blame(
        r, at,
        dnnl_tp_graph_call(region, text, r->functions[f].handle, in.n, in.values, out->n, out->values)));
    return apply_order(r, region, at, &order, out);
}

static dnnl_tp_status_t check_yield(const dtp_text_reader_t *r, const char *at, int want,
                                    const dtp_text_list_t *got) {
    if (got->n == want) return dnnl_tp_success;
    return dtp_text_fail(r, at, "%d values are needed, yield names %d", want, got->n);
}

static dnnl_tp_status_t read_branches(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *at,
                                      const dtp_text_list_t *out, dnnl_tp_graph_t branch[2]) {
    const char *text;
    dtp_text_list_t in, yield[2];
    order_t order;
    DTP_TRY(dtp_text_string(r, &text));
    DTP_TRY(dtp_text_inputs(r, &in));
    DTP_TRY(read_order(r, &order));
    if (in.n != 1) return dtp_text_fail(r, at, "if has one input, not %d", in.n);
    for (int b = 0; b < 2; ++b) {
        if (b) DTP_TRY(dtp_text_expect_word(r, "else"));
        const char *start = r->token.at;
        DTP_TRY(dtp_text_blame(r, start, dnnl_tp_graph_create_region(&branch[b], region)));
        DTP_TRY(read_block(r, branch[b], "yield", &yield[b]));
        DTP_TRY(check_yield(r, start, out->n, &yield[b]));
    }
    DTP_TRY(dtp_text_blame(r, at,
                           dnnl_tp_graph_if(region, text, in.values[0], branch[0], branch[1], out->n,
                                            yield[0].values, yield[1].values, out->values)));
    return apply_order(r, region, at, &order, out);
}

static dnnl_tp_status_t read_if(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *at,
                                const dtp_text_list_t *out) {
    dnnl_tp_graph_t branch[2] = {NULL, NULL};
    dnnl_tp_status_t status = read_branches(r, region, at, out, branch);
    dnnl_tp_graph_destroy(branch[0]);
    dnnl_tp_graph_destroy(branch[1]);
    return status;
}

/* Variables: "%v: type "name" = %init". */
static dnnl_tp_status_t read_variables(dtp_text_reader_t *r, dnnl_tp_graph_t cond, dtp_text_list_t *vars,
                                       dtp_text_list_t *init) {
    *vars = *init = (dtp_text_list_t){0};
    DTP_TRY(dtp_text_list_grow(r, vars));
    DTP_TRY(dtp_text_list_grow(r, init));
    DTP_TRY(dtp_text_expect(r, '('));
    for (bool more = !dtp_text_is(r, ')'); more;) {
        dnnl_tp_tensor_info_t info;
        const char *text;
        DTP_TRY(dtp_text_list_grow(r, vars));
        DTP_TRY(dtp_text_list_grow(r, init));
        dtp_token_t *name = &vars->names[vars->n];
        DTP_TRY(read_declaration(r, name, &info, &text));
        DTP_TRY(dtp_text_blame(
            r, name->at,
            dnnl_tp_graph_input(cond, &vars->values[vars->n], text, info.data_type, info.ndims, info.dims)));
        DTP_TRY(dtp_text_expect(r, '='));
        DTP_TRY(dtp_text_lookup(r, DTP_TOKEN_VALUE, &init->values[init->n]));
        ++vars->n;
        ++init->n;
        DTP_TRY(dtp_text_accept(r, ',', &more));
    }
    DTP_TRY(dtp_text_expect(r, ')'));
    return dtp_text_bind(r, vars);
}

static dnnl_tp_status_t read_loop(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *at,
                                  const dtp_text_list_t *out, dnnl_tp_graph_t part[2]) {
    const char *text;
    dtp_text_list_t vars, init, test, next;
    order_t order;
    int64_t window = 0;
    bool given;
    DTP_TRY(dtp_text_string(r, &text));
    DTP_TRY(dtp_text_blame(r, at, dnnl_tp_graph_create_region(&part[0], region)));
    DTP_TRY(read_variables(r, part[0], &vars, &init));
    DTP_TRY(dtp_text_accept_word(r, "window", &given));
    if (given) {
        DTP_TRY(dtp_text_expect(r, '='));
        DTP_TRY(dtp_text_integer(r, &window));
        if (window < 0 || window > INT32_MAX)
            return dtp_text_fail(r, at, "window is %lld", (long long)window);
    }
    DTP_TRY(read_order(r, &order));
    DTP_TRY(read_block(r, part[0], "test", &test));
    if (test.n != 1) return dtp_text_fail(r, at, "test names one value, not %d", test.n);
    DTP_TRY(dtp_text_expect_word(r, "do"));
    const char *start = r->token.at;
    DTP_TRY(dtp_text_blame(r, start, dnnl_tp_graph_create_region(&part[1], part[0])));
    DTP_TRY(read_block(r, part[1], "yield", &next));
    DTP_TRY(check_yield(r, start, vars.n, &next));
    if (out->n != vars.n)
        return dtp_text_fail(r, at, "while has %d variables and %d results", vars.n, out->n);
    DTP_TRY(
        dtp_text_blame(r, at,
                       dnnl_tp_graph_while(region, text, part[0], test.values[0], part[1], vars.n,
                                           init.values, vars.values, next.values, (int)window, out->values)));
    return apply_order(r, region, at, &order, out);
}

static dnnl_tp_status_t read_while(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *at,
                                   const dtp_text_list_t *out) {
    dnnl_tp_graph_t part[2] = {NULL, NULL};
    dnnl_tp_status_t status = read_loop(r, region, at, out, part);
    dnnl_tp_graph_destroy(part[1]);
    dnnl_tp_graph_destroy(part[0]);
    return status;
}

/* ---- Blocks ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t read_operator(dtp_text_reader_t *r, dnnl_tp_graph_t region) {
    dtp_text_list_t out;
    DTP_TRY(dtp_text_names(r, &out));
    if (out.n) DTP_TRY(dtp_text_expect(r, '='));
    dtp_token_t word = r->token;
    if (word.kind != DTP_TOKEN_WORD) return dtp_text_fail(r, word.at, "an operator is needed");
    const dtp_op_row_t *row = dtp_op_row_named(word.at, word.size);
    bool host = dtp_text_is_word(r, "host"), branch = dtp_text_is_word(r, "if"),
         loop = dtp_text_is_word(r, "while"), call = dtp_text_is_word(r, "call");
    if (!row && !host && !branch && !loop && !call)
        return dtp_text_fail(r, word.at, "'%.*s' is no operator", (int)word.size, word.at);
    DTP_TRY(dtp_text_next(r));
    dtp_text_reader_t *reader = r;
    if (row) DTP_TRY(read_op(reader, region, row, word.at, &out));
    if (host) DTP_TRY(read_host(reader, region, word.at, &out));
    if (branch) DTP_TRY(read_if(reader, region, word.at, &out));
    if (loop) DTP_TRY(read_while(reader, region, word.at, &out));
    if (call) DTP_TRY(read_call(reader, region, word.at, &out));
    for (int i = 0; i < out.n; ++i) {
        /* A type that was written though it is inferred has to be right. */
        dnnl_tp_tensor_info_t have;
        DTP_TRY(dnnl_tp_graph_value_info(r->graph, out.values[i], &have));
        if (out.infos[i].data_type != dnnl_tp_data_type_undef && !dtp_info_equal(&have, &out.infos[i])) {
            char text[DTP_SHAPE_TEXT];
            return dtp_text_fail(r, out.names[i].at, "%.*s is %s %s, the text says something else",
                                 (int)out.names[i].size, out.names[i].at, dnnl_tp_dt2str(have.data_type),
                                 dtp_info_text(&have, text));
        }
    }
    return dtp_text_bind(r, &out);
}

static dnnl_tp_status_t read_block(dtp_text_reader_t *r, dnnl_tp_graph_t region, const char *last,
                                   dtp_text_list_t *values) {
    bool ends;
    DTP_TRY(dtp_text_expect(r, '{'));
    for (;;) {
        DTP_TRY(dtp_text_accept_word(r, last, &ends));
        if (ends) break;
        bool constant;
        DTP_TRY(dtp_text_accept_word(r, "constant", &constant));
        DTP_TRY(constant ? read_constant(r, region) : read_operator(r, region));
    }
    DTP_TRY(dtp_text_values(r, values));
    return dtp_text_expect(r, '}');
}

static dnnl_tp_status_t read_body(dtp_text_reader_t *r) {
    const char *at = r->token.at;
    int32_t number;
    dtp_text_list_t values;
    DTP_TRY(dtp_text_lookup(r, DTP_TOKEN_FUNCTION, &number));
    if (r->functions[number].defined) return dtp_text_fail(r, at, "the function is defined twice");
    r->functions[number].defined = true;
    dnnl_tp_graph_t f = r->functions[number].handle;
    DTP_TRY(read_block(r, f, "return", &values));
    for (int i = 0; i < values.n; ++i)
        DTP_TRY(dtp_text_blame(r, at, dnnl_tp_graph_output(f, values.values[i], NULL)));
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_output(dtp_text_reader_t *r) {
    const char *at = r->token.at, *text;
    int32_t v;
    DTP_TRY(dtp_text_lookup(r, DTP_TOKEN_VALUE, &v));
    DTP_TRY(dtp_text_string(r, &text));
    return dtp_text_blame(r, at, dnnl_tp_graph_output(r->graph, v, text));
}

static dnnl_tp_status_t read_statements(dtp_text_reader_t *r) {
    static const char *const words[] = {"input", "constant", "function", "define", "output"};
    while (r->token.kind != DTP_TOKEN_END) {
        int k = 0;
        while (k < 5 && !dtp_text_is_word(r, words[k])) ++k;
        if (k < 5) DTP_TRY(dtp_text_next(r));
        switch (k) {
        case 0: DTP_TRY(read_input(r)); break;
        case 1: DTP_TRY(read_constant(r, r->graph)); break;
        case 2: DTP_TRY(read_function(r)); break;
        case 3: DTP_TRY(read_body(r)); break;
        case 4: DTP_TRY(read_output(r)); break;
        default: DTP_TRY(read_operator(r, r->graph));
        }
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_graph_text_read(dtp_text_reader_t *r) {
    int64_t version;
    r->token = (dtp_token_t){DTP_TOKEN_END, r->text, 0};
    DTP_TRY(dtp_text_next(r));
    DTP_TRY(dtp_text_expect_word(r, "dnnl_tp_graph"));
    const char *at = r->token.at;
    DTP_TRY(dtp_text_integer(r, &version));
    if (version != DTP_TEXT_VERSION)
        return dtp_text_fail(r, at, "version %lld of the text form is not known", (long long)version);
    at = r->token.at;
    bool gpu = dtp_text_is_word(r, "gpu");
    if (!gpu && !dtp_text_is_word(r, "cpu"))
        return dtp_text_fail(r, at, "the kind of engine is needed: cpu or gpu");
    DTP_TRY(dtp_text_next(r));
    DTP_TRY(dtp_text_blame(r, at, dnnl_tp_graph_create(&r->graph, gpu ? dnnl_tp_gpu : dnnl_tp_cpu)));
    dnnl_tp_status_t status = read_statements(r);
    for (int i = 0; i < r->nfunctions; ++i) dnnl_tp_graph_destroy(r->functions[i].handle);
    return status;
}
