/* Problems: their tensors and their texts. */
#include <string.h>

#include "common/prb.h"

int bd_find_arg(const bd_prb_t *p, int arg) {
    for (int i = 0; i < p->nt; ++i)
        if (p->t[i].arg == arg) return i;
    return -1;
}

bd_tensor_t *bd_add_tensor(bd_prb_t *p, int arg, const char *name, int nd, const int64_t *d, int dt,
                           const char *tag, unsigned io) {
    if (p->nt == BD_MAX_TENSORS) return NULL;
    bd_tensor_t *t = &p->t[p->nt++];
    memset(t, 0, sizeof *t);
    t->arg = arg;
    t->name = name;
    t->nd = nd;
    memcpy(t->d, d, (size_t)nd * sizeof *d);
    t->dt = dt;
    t->tag = tag;
    t->io = io;
    t->alias = -1;
    return t;
}

int64_t bd_elems(const bd_tensor_t *t) {
    int64_t n = 1;
    for (int i = 0; i < t->nd; ++i)
        if (__builtin_mul_overflow(n, t->d[i], &n)) return INT64_MAX / 64; /* too large for any machine */
    return n;
}

bool bd_dir_bwd(bd_dir_t d) { return d >= BD_BWD_D; }
dnnl_tp_prop_kind_t bd_prop(bd_dir_t d) {
    return d == BD_FWD_I ? dnnl_tp_forward_inference : dnnl_tp_forward_training;
}

void bd_prb_text(const bd_prb_t *p, char *out, size_t size) {
    static bd_prb_t def; /* one thread; large */
    char a[BD_TEXT], b[BD_TEXT];
    for (const bd_opt_t *const *o = p->drv->print; *o; ++o) {
        (*o)->get(p, a, sizeof a);
        if (!(*o)->always && !bd.canonical) {
            memset(&def, 0, sizeof def);
            (*o)->set(&def, bd_opt_default(*o));
            (*o)->get(&def, b, sizeof b);
            if (!strcmp(a, b)) continue;
        }
        bd_cat(out, size, "--%s=%s ", (*o)->name, a);
    }
    p->drv->desc(p, out, size);
}

static void globals(char *out, size_t size) {
    bool c = bd.canonical;
    char mod[4] = "";
    if (bd.mod_parallel) bd_cat(mod, sizeof mod, "P");
    if (bd.mod_no_ref) bd_cat(mod, sizeof mod, "M");
    if (c || bd.mode != 'C') bd_cat(out, size, "--mode=%c ", bd.mode);
    if (c || (*mod && bd.mode != 'F')) bd_cat(out, size, "--mode-modifier=%s ", mod);
    if (c || (bd.max_ms != 3000 && bd.mode != 'F')) bd_cat(out, size, "--max-ms-per-prb=%g ", bd.max_ms);
    if (c || (bd.fix_times && bd.mode != 'S')) bd_cat(out, size, "--fix-times-per-prb=%d ", bd.fix_times);
    if (c || strcmp(bd.execution_mode, "direct"))
        bd_cat(out, size, "--execution-mode=%s ", bd.execution_mode);
    if (c) bd_cat(out, size, "--canonical=true ");
    if (c || strcmp(bd.engine_text, "cpu")) bd_cat(out, size, "--engine=%s ", bd.engine_text);
    if (c) bd_cat(out, size, "--fast-ref=false ");
    if (c || !bd.mem_check) bd_cat(out, size, "--mem-check=%s ", bd.mem_check ? "true" : "false");
    if (c || !bd.enum_tags_only)
        bd_cat(out, size, "--allow-enum-tags-only=%s ", bd.enum_tags_only ? "true" : "false");
    if (c || strcmp(bd.isa_hints, "none")) bd_cat(out, size, "--cpu-isa-hints=%s ", bd.isa_hints);
    if (c || bd.same_pd_check)
        bd_cat(out, size, "--attr-same-pd-check=%s ", bd.same_pd_check ? "true" : "false");
    if (c || bd.allow_unimpl) bd_cat(out, size, "--allow-unimpl=%s ", bd.allow_unimpl ? "true" : "false");
    if (c || bd.check_ref_impl)
        bd_cat(out, size, "--check-ref-impl=%s ", bd.check_ref_impl ? "true" : "false");
    if (c || bd.cold) bd_cat(out, size, "--cold-cache=%s ", bd.cold_text);
    if (c || *bd.buffer_prefix) bd_cat(out, size, "--buffer-prefix=%s ", bd.buffer_prefix);
    /* Ours. */
    if (bd.max_gops > 0) bd_cat(out, size, "--max-gops=%g ", bd.max_gops);
    if (*bd.isa) bd_cat(out, size, "--isa=%s ", bd.isa);
    if (bd.pool) bd_cat(out, size, "--pool=%s ", bd.pool == BD_POOL_ASYNC ? "async" : "none");
    if (bd.threads) bd_cat(out, size, "--threads=%d ", bd.threads);
    if (bd.measure)
        bd_cat(out, size, "--measure=%s ", bd.measure == BD_MEASURE_CREATE ? "create" : "handles");
}

void bd_repro(const bd_prb_t *p, const char *impl, char *out, size_t size) {
    out[0] = 0;
    globals(out, size);
    bd_cat(out, size, "--%s ", p->drv->name);
    if (impl && *impl) bd_cat(out, size, "--impl=%s ", impl);
    bd_prb_text(p, out, size);
}
