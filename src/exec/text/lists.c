/* What statements of the text form consist of: names, types, lists of values. The statements: read.c. */
#include "exec/text/text.h"

/* ---- Names ------------------------------------------------------------------------------------------- */

static dtp_text_name_t *find_name(const dtp_text_reader_t *r, const dtp_token_t *t) {
    size_t i = (size_t)dtp_hash_bytes(t->at, t->size);
    for (;; ++i) {
        dtp_text_name_t *n = &r->names[i & (size_t)(r->cap_names - 1)];
        if (!n->name || (n->size == t->size && !memcmp(n->name, t->at, t->size))) return n;
    }
}

dnnl_tp_status_t dtp_text_define(dtp_text_reader_t *r, const dtp_token_t *t, int32_t number) {
    if (2 * (r->nnames + 1) > r->cap_names) {
        dtp_text_reader_t old = *r;
        int cap = r->cap_names ? 2 * r->cap_names : 64;
        dtp_text_name_t *names = dtp_arena_alloc(&r->arena, sizeof *names * (size_t)cap);
        if (!names) return dnnl_tp_out_of_memory;
        r->names = names;
        r->cap_names = cap;
        for (int i = 0; i < old.cap_names; ++i) {
            dtp_token_t name = {0, old.names[i].name, old.names[i].size};
            if (name.at) *find_name(r, &name) = old.names[i];
        }
    }
    dtp_text_name_t *n = find_name(r, t);
    if (n->name) return dtp_text_fail(r, t->at, "%.*s is defined twice", (int)t->size, t->at);
    *n = (dtp_text_name_t){t->at, t->size, number};
    ++r->nnames;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_lookup(dtp_text_reader_t *r, dtp_token_kind_t kind, int32_t *number) {
    const dtp_token_t *t = &r->token;
    if (t->kind != kind)
        return dtp_text_fail(r, t->at, "a %s is needed", kind == DTP_TOKEN_VALUE ? "%value" : "@function");
    const dtp_text_name_t *n = r->cap_names ? find_name(r, t) : NULL;
    if (!n || !n->name) return dtp_text_fail(r, t->at, "%.*s is not defined", (int)t->size, t->at);
    *number = n->number;
    return dtp_text_next(r);
}

/* ---- Types and lists --------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_text_type(dtp_text_reader_t *r, dnnl_tp_tensor_info_t *info) {
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f16, dnnl_tp_bf16, dnnl_tp_f32,
                                                dnnl_tp_s32, dnnl_tp_s8,   dnnl_tp_u8,
                                                dnnl_tp_f64, dnnl_tp_s64,  dnnl_tp_boolean};
    memset(info, 0, sizeof *info);
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (dtp_text_is_word(r, dnnl_tp_dt2str(types[i]))) info->data_type = types[i];
    if (info->data_type == dnnl_tp_data_type_undef)
        return dtp_text_fail(r, r->token.at, "'%.*s' where a type is needed",
                             (int)dtp_min64((int64_t)r->token.size, DTP_TEXT_NUMBER), r->token.at);
    DTP_TRY(dtp_text_next(r));
    DTP_TRY(dtp_text_expect(r, '['));
    bool more = !dtp_text_is(r, ']');
    while (more) {
        bool unknown;
        if (info->ndims == DNNL_TP_MAX_NDIMS)
            return dtp_text_fail(r, r->token.at, "more than %d dimensions", DNNL_TP_MAX_NDIMS);
        int64_t *dim = &info->dims[info->ndims++];
        DTP_TRY(dtp_text_accept(r, '?', &unknown));
        if (unknown) {
            *dim = DNNL_TP_RUNTIME_DIM_VAL;
        } else {
            const char *at = r->token.at;
            DTP_TRY(dtp_text_integer(r, dim));
            if (*dim < 0) return dtp_text_fail(r, at, "a size is negative");
        }
        DTP_TRY(dtp_text_accept(r, ',', &more));
    }
    return dtp_text_expect(r, ']');
}

dnnl_tp_status_t dtp_text_list_grow(dtp_text_reader_t *r, dtp_text_list_t *l) {
    DTP_TRY(dtp_arena_grow(&r->arena, (void **)&l->values, &l->cap_values, l->n + 1, sizeof *l->values));
    DTP_TRY(dtp_arena_grow(&r->arena, (void **)&l->names, &l->cap_names, l->n + 1, sizeof *l->names));
    DTP_TRY(dtp_arena_grow(&r->arena, (void **)&l->infos, &l->cap_infos, l->n + 1, sizeof *l->infos));
    memset(&l->infos[l->n], 0, sizeof *l->infos);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_values(dtp_text_reader_t *r, dtp_text_list_t *l) {
    *l = (dtp_text_list_t){0};
    DTP_TRY(dtp_text_list_grow(r, l));
    bool more = r->token.kind == DTP_TOKEN_VALUE || dtp_text_is(r, '_');
    while (more) {
        bool absent;
        DTP_TRY(dtp_text_list_grow(r, l));
        DTP_TRY(dtp_text_accept(r, '_', &absent));
        l->values[l->n] = -1;
        if (!absent) DTP_TRY(dtp_text_lookup(r, DTP_TOKEN_VALUE, &l->values[l->n]));
        ++l->n;
        DTP_TRY(dtp_text_accept(r, ',', &more));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_inputs(dtp_text_reader_t *r, dtp_text_list_t *l) {
    DTP_TRY(dtp_text_expect(r, '('));
    DTP_TRY(dtp_text_values(r, l));
    return dtp_text_expect(r, ')');
}

dnnl_tp_status_t dtp_text_names(dtp_text_reader_t *r, dtp_text_list_t *l) {
    *l = (dtp_text_list_t){.typed = true};
    DTP_TRY(dtp_text_list_grow(r, l));
    bool more = r->token.kind == DTP_TOKEN_VALUE, typed;
    while (more) {
        DTP_TRY(dtp_text_list_grow(r, l));
        if (r->token.kind != DTP_TOKEN_VALUE) return dtp_text_fail(r, r->token.at, "a %%value is needed");
        l->names[l->n] = r->token;
        DTP_TRY(dtp_text_next(r));
        DTP_TRY(dtp_text_accept(r, ':', &typed));
        if (typed) DTP_TRY(dtp_text_type(r, &l->infos[l->n]));
        l->typed &= typed;
        ++l->n;
        DTP_TRY(dtp_text_accept(r, ',', &more));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_bind(dtp_text_reader_t *r, const dtp_text_list_t *l) {
    for (int i = 0; i < l->n; ++i) DTP_TRY(dtp_text_define(r, &l->names[i], l->values[i]));
    return dnnl_tp_success;
}
