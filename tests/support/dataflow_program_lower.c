/* Random programs as calls of the dataflow builder. See dataflow_program_parts.h. */
#include "support/dataflow_program_parts.h"

static int new_rec(dataflow_program_t *p, rec_t r) {
    if (p->nrec == p->rec_room) {
        p->rec_room = p->rec_room ? 2 * p->rec_room : 64;
        p->rec = realloc(p->rec, sizeof *p->rec * (size_t)p->rec_room);
        if (!p->rec) dataflow_program_die("no memory");
    }
    p->rec[p->nrec] = r;
    return p->nrec++;
}
static int new_region(dataflow_program_t *p, int up, int64_t reserved) {
    if (p->nregions == 4096) dataflow_program_die("too many regions");
    p->region_up[p->nregions] = up;
    p->region_bytes[p->nregions] = reserved;
    return p->nregions++;
}
static int64_t room_in(dataflow_program_t *p, int region, int64_t bytes) {
    int64_t at = p->region_bytes[region];
    p->region_bytes[region] += bytes;
    return at;
}
static dtp_dataflow_ref_t ref_to(const dataflow_program_t *p, int region, int v) {
    dtp_dataflow_ref_t r = {.indirect = p->loc[v].indirect, .offset = p->loc[v].at};
    while (region != p->loc[v].region) {
        region = p->region_up[region];
        ++r.level;
    }
    return r;
}
static void place(dataflow_program_t *p, int v, int region, int32_t token) {
    int64_t at = p->want_at[v] ? p->want_at[v] - 1 : room_in(p, region, 8);
    p->loc[v] = (where_t){.region = region, .at = at, .token = token};
}

/* Is v made by a statement of b itself, and not yet somebody else's output? Then it can be made at its
 * destination. */
static bool made_here(const dataflow_program_t *p, const block_t *b, int v) {
    if (p->want_at[v]) return false;
    for (int k = 0; k < b->n; ++k)
        for (int i = 0; i < b->st[k].nout; ++i)
            if (b->st[k].out[i] == v) return true;
    return false;
}

static void lower(dataflow_program_t *p, const block_t *b, int block, int region);

/* An output of block b at its place `at`: the token. */
static int32_t output(dataflow_program_t *p, const block_t *b, int block, int region, int v, int64_t at) {
    bool here = false;
    for (int k = 0; k < b->n && !here; ++k)
        for (int i = 0; i < b->st[k].nout; ++i) here |= b->st[k].out[i] == v;
    if (here && p->loc[v].at == at && p->loc[v].region == region) return p->loc[v].token;
    rec_t r = {.op = OP_COPY, .nin = 1, .in = {ref_to(p, region, v)}, .out = at};
    int32_t t = dtp_dataflow_node(p->b, block, (uint32_t)new_rec(p, r), 0, p->opts.ns);
    dtp_dataflow_after(p->b, t, p->loc[v].token);
    return t;
}

static unsigned random_flags(dataflow_program_t *p) {
    unsigned flags = 0;
    int x = dataflow_program_rnd(p, 100);
    if (x < p->opts.costly) flags = DTP_DATAFLOW_COSTLY;
    else if (x < 2 * p->opts.costly) flags = DTP_DATAFLOW_WIDE;
    else if (x < 2 * p->opts.costly + p->opts.blocking) flags = DTP_DATAFLOW_MAY_BLOCK;
    else if (x >= 100 - p->opts.costly) flags = DTP_DATAFLOW_SPLITS;
    else if (x % 2) flags = DTP_DATAFLOW_UNKNOWN;
    if (p->opts.pending && dataflow_program_rnd(p, 100) < p->opts.pending) flags |= DTP_DATAFLOW_MAY_PEND;
    return flags;
}

static void lower_if(dataflow_program_t *p, const stmt_t *s, int block, int region) {
    dtp_dataflow_ref_t pred = ref_to(p, region, s->in[0]);
    dtp_dataflow_if_t f = dtp_dataflow_if(p->b, block, &pred);
    dtp_dataflow_after(p->b, f.token, p->loc[s->in[0]].token);
    const block_t *side[2] = {s->a, s->b};
    int32_t token[2][MAX_OUT];
    for (int i = 0; i < s->nout; ++i) place(p, s->out[i], region, -1);
    for (int k = 0; k < 2; ++k) {
        bool direct = dataflow_program_rnd(p, 3) != 0;
        for (int i = 0; i < s->nout && direct; ++i)
            if (made_here(p, side[k], side[k]->outs[i]))
                p->want_at[side[k]->outs[i]] = p->loc[s->out[i]].at + 1;
        lower(p, side[k], f.branch[k], region);
        for (int i = 0; i < s->nout; ++i)
            token[k][i] = output(p, side[k], f.branch[k], region, side[k]->outs[i], p->loc[s->out[i]].at);
    }
    bool whole = dataflow_program_rnd(p, 5) == 0; /* consumers wait for all of the If */
    for (int i = 0; i < s->nout; ++i)
        p->loc[s->out[i]].token =
            whole ? f.token : dtp_dataflow_if_out(p->b, f.token, token[0][i], token[1][i]);
}

static void lower_while(dataflow_program_t *p, const stmt_t *s, int block, int region) {
    int inner = new_region(p, region, 0);
    rec_t r = {.nvars = s->npar};
    r.var_at = room_in(p, inner, 8 * MAX_VARS);
    for (int i = 0; i < s->npar; ++i) r.body_out[i] = room_in(p, inner, 8);
    for (int i = 0; i < s->npar; ++i) r.in[i] = ref_to(p, region, s->in[i]);
    for (int i = 0; i < s->nout; ++i) {
        place(p, s->out[i], region, -1);
        r.outs[i] = p->loc[s->out[i]].at;
    }
    uint32_t index = (uint32_t)new_rec(p, r);
    dtp_dataflow_loop_t l = {.nvars = s->npar, .window = s->window, .index = index, .exit_index = index};
    if (s->npar == 0 && dataflow_program_rnd(p, 2)) l.exit_index = DTP_DATAFLOW_NO_INDEX;
    /* Where the test lies is known only after the condition: fixed places for it. */
    int test = s->a->outs[0];
    bool own = false;
    for (int k = 0; k < s->a->n; ++k) own |= s->a->st[k].nout && s->a->st[k].out[0] == test;
    dtp_dataflow_ref_t ref = {0};
    for (int i = 0; i < s->npar; ++i)
        p->loc[s->par[i]] = (where_t){.region = inner, .at = r.var_at + 8 * i, .indirect = true};
    if (own) {
        p->want_at[test] = room_in(p, inner, 8) + 1;
        ref.offset = p->want_at[test] - 1;
    } else {
        ref = ref_to(p, inner, test);
    }
    l.test = ref;
    l.data_stride = p->last_bytes[inner]; /* of the pass before; see dataflow_program_create */
    l.data_offset = room_in(p, region, l.data_stride * (s->window + 1));
    dtp_dataflow_while_t w = dtp_dataflow_while(p->b, block, &l);
    for (int i = 0; i < s->nin; ++i) dtp_dataflow_after(p->b, w.token, p->loc[s->in[i]].token);
    for (int i = 0; i < s->npar; ++i) p->loc[s->par[i]].token = w.first_var + i;
    lower(p, s->a, w.cond, inner);
    dtp_dataflow_after(p->b, w.test, p->loc[test].token);
    for (int i = 0; i < s->npar; ++i)
        if (made_here(p, s->b, s->b->outs[i])) p->want_at[s->b->outs[i]] = r.body_out[i] + 1;
    lower(p, s->b, w.body, inner);
    for (int i = 0; i < s->npar; ++i)
        dtp_dataflow_next(p->b, w.token, i, output(p, s->b, w.body, inner, s->b->outs[i], r.body_out[i]));
    for (int i = 0; i < s->nout; ++i) p->loc[s->out[i]].token = w.token;
}

static void lower(dataflow_program_t *p, const block_t *b, int block, int region) {
    for (int k = 0; k < b->n; ++k) {
        const stmt_t *s = &b->st[k];
        if (s->type == ST_IF) lower_if(p, s, block, region);
        else if (s->type == ST_WHILE) lower_while(p, s, block, region);
        else if (s->type == ST_OP) {
            rec_t r = {.op = s->op, .salt = s->salt, .counted = true, .effect = s->effect, .nin = s->nin};
            for (int i = 0; i < s->nin; ++i) r.in[i] = ref_to(p, region, s->in[i]);
            place(p, s->out[0], region, -1);
            r.out = p->loc[s->out[0]].at;
            unsigned flags = random_flags(p) | (s->effect ? DTP_DATAFLOW_SIDE_EFFECT : 0);
            r.may_pend = (flags & DTP_DATAFLOW_MAY_PEND) != 0;
            int32_t t = dtp_dataflow_node(p->b, block, (uint32_t)new_rec(p, r), flags, p->opts.ns);
            for (int i = 0; i < s->nin; ++i) dtp_dataflow_after(p->b, t, p->loc[s->in[i]].token);
            p->loc[s->out[0]].token = t;
        } else {
            rec_t r = {.nin = s->nin};
            const function_t *f = &p->fn[s->function];
            for (int i = 0; i < s->nin; ++i) r.in[i] = ref_to(p, region, s->in[i]);
            place(p, s->out[0], region, -1);
            r.out = p->loc[s->out[0]].at;
            r.var_at = f->par_at;
            int32_t t = dtp_dataflow_call(p->b, block, f->block, (uint32_t)new_rec(p, r));
            for (int i = 0; i < s->nin; ++i) dtp_dataflow_after(p->b, t, p->loc[s->in[i]].token);
            p->loc[s->out[0]].token = t;
        }
    }
}

/* Parameters come with a node without work. */
static void lower_function(dataflow_program_t *p, function_t *f) {
    f->region = new_region(p, -1, 0);
    f->par_at = room_in(p, f->region, 8 * (MAX_VARS + 1));
    f->ret_at = f->par_at + 8 * MAX_VARS;
}
static void lower_function_body(dataflow_program_t *p, function_t *f) {
    int32_t start = dtp_dataflow_node(p->b, f->block, 0, DTP_DATAFLOW_NOP, 0);
    for (int i = 0; i < f->npar; ++i)
        p->loc[f->par[i]] =
            (where_t){.region = f->region, .at = f->par_at + 8 * i, .indirect = true, .token = start};
    lower(p, f->body, f->block, f->region);
    rec_t r = {
        .op = OP_COPY, .nin = 1, .in = {ref_to(p, f->region, f->out)}, .out = f->ret_at, .to_pointer = true};
    int32_t t = dtp_dataflow_node(p->b, f->block, (uint32_t)new_rec(p, r), 0, p->opts.ns);
    dtp_dataflow_after(p->b, t, p->loc[f->out].token);
    f->bytes = p->region_bytes[f->region];
}

void dataflow_program_lower(dataflow_program_t *p) {
    p->loc = dataflow_program_make(sizeof *p->loc * (size_t)(p->nv + 1));
    p->want_at = dataflow_program_make(sizeof *p->want_at * (size_t)(p->nv + 1));
    /* The room for a loop's instances is known when the loop was lowered once: until nothing changes. */
    uint64_t rng = p->rng;
    for (bool changed = true; changed;) {
        p->rng = rng;
        p->nrec = p->nregions = 0;
        memset(p->loc, 0, sizeof *p->loc * (size_t)(p->nv + 1));
        memset(p->want_at, 0, sizeof *p->want_at * (size_t)(p->nv + 1));
        dtp_dataflow_builder_destroy(p->b);
        p->b = dtp_dataflow_builder_create(NULL);
        if (!p->b) dataflow_program_die("builder");
        new_region(p, -1, 0);
        new_rec(p, (rec_t){.op = OP_HASH});
        for (int f = 0; f < p->nfn; ++f) {
            p->fn[f].block = dtp_dataflow_function(p->b);
            lower_function(p, &p->fn[f]);
        }
        for (int f = 0; f < p->nfn; ++f) lower_function_body(p, &p->fn[f]);
        lower(p, p->root, DTP_DATAFLOW_ROOT, 0);
        changed = memcmp(p->last_bytes, p->region_bytes, sizeof p->last_bytes) != 0;
        memcpy(p->last_bytes, p->region_bytes, sizeof p->last_bytes);
    }
}
