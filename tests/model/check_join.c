/* Parts of a buffer (src/exec/compile/order/orderings.c): three steps write a part each, on threads of their own; one
 * reads the whole, one reads a part, and what is written into the same memory afterwards follows both. The events
 * and what they wait for are the product's, each has a counter, and whoever brings it to zero goes on with it. */
#include "exec/dataflow/run/share.c"

#include "exec/dataflow/run/run.c"

#include "exec/dataflow/run/learn.c"

#include "common/base/arena.c"
#include "exec/compile/order/orderings.c"
#include "model/no_blocking.h"
#include "model/no_crew.h"
#include "model/no_dataflow_pending.h"
#include "model/product.h"

enum {
    PARTS = 3,
    WHOLE = PARTS,
    SUM,
    COPY,
    LATER,
    BUFS,
    JOIN = PARTS,
    STEPS = JOIN + 5,
    MAX_ARGS = PARTS + 1
};

static dtp_arena_t arena;
static dtp_ir_t ir = {.arena = &arena};
static dtp_lower_scope_t scope = {.parent = -1, .end = STEPS - 1};
static dtp_buf_t bufs[BUFS];
static dtp_step_t step[STEPS], *steps[STEPS];
static dtp_step_arg_t args[STEPS][MAX_ARGS];
static int item_end[STEPS];
static dtp_exec_t exec = {.by_counters = true};
static dtp_lower_t lower = {.ir = &ir,
                            .steps = steps,
                            .nsteps = STEPS,
                            .bufs = bufs,
                            .nbufs = BUFS,
                            .scopes = &scope,
                            .nscopes = 1,
                            .item_end = item_end};

static dtp_orderings_t orderings;
static DTP_ATOMIC(uint8_t) left[STEPS];
static int cell[PARTS], other[BUFS]; /* memory: of the whole, of the rest */
static bool filled[PARTS];
static int ended;

static void use(int i, int buf, bool written) {
    step[i].arg = args[i];
    args[i][step[i].nargs++] = (dtp_step_arg_t){.buf = buf, .written = written};
}

static void touch(int buf, bool written) {
    const bool is_whole = buf == WHOLE || buf == LATER;
    if (buf >= PARTS && !is_whole) (written ? mc_write : mc_read)(&other[buf]);
    for (int i = is_whole ? 0 : buf; i < PARTS && (is_whole || i == buf); ++i) {
        if (!written) MC_CHECK(filled[i]);
        (written ? mc_write : mc_read)(&cell[i]);
        filled[i] = buf != LATER;
    }
}

static void run(int k) {
    const dtp_event_t *v = &orderings.events[k];
    const dtp_step_t *t = steps[v->first];
    for (int pass = 0; pass < 2 && v->kind != DTP_EVENT_JOIN; ++pass) /* reads, then writes */
        for (int i = 0; i < t->nargs; ++i)
            if (t->arg[i].written == (pass == 1)) touch(t->arg[i].buf, pass == 1);
    ++ended;
    for (int n = k + 1; n < orderings.n; ++n)
        for (int i = 0; i < orderings.events[n].nafter; ++i)
            if (orderings.after[orderings.events[n].after + i] == k && arrive8(&left[n], true)) {
                mc_hit(mc_self() == 0 ? "the first one goes on" : "another one goes on");
                run(n);
            }
}

static void writer(void *arg) { run((int)(intptr_t)arg); }

static void setup(void) {
    dtp_arena_init(&arena, dtp_process_allocator());
    memset(step, 0, sizeof step);
    memset(filled, 0, sizeof filled);
    ended = 0;
    for (int i = 0; i < STEPS; ++i) {
        steps[i] = &step[i];
        step[i].slice_group = step[i].other = item_end[i] = -1;
    }
    for (int i = 0; i < PARTS; ++i) {
        bufs[i] = (dtp_buf_t){.kind = DTP_BUF_PART, .part_of = WHOLE};
        use(i, i, true);
        use(JOIN, i, false);
    }
    step[JOIN].ctl = DTP_CTL_JOIN;
    use(JOIN, WHOLE, true);
    use(JOIN + 1, WHOLE, false);
    use(JOIN + 1, SUM, true);
    use(JOIN + 2, 0, false);
    use(JOIN + 2, COPY, true);
    use(JOIN + 3, SUM, false);
    use(JOIN + 3, COPY, false);
    use(JOIN + 3, LATER, true);
    step[JOIN + 4].ctl = DTP_CTL_END;
    if (dtp_orderings_derive(&orderings, &exec, &lower) != dnnl_tp_success) mc_fail("no memory");
    for (int k = 0; k < STEPS && k < orderings.n; ++k) left[k] = (uint8_t)orderings.events[k].nafter;
    for (int k = 0; k < PARTS; ++k) {
        MC_CHECK(orderings.events[k].nafter == 0);
        mc_thread(writer, (void *)(intptr_t)k);
    }
}
static void all_ended(void) { MC_CHECK(ended == STEPS - 1); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "parts", .setup = setup, .end = all_ended},
        {.name = "parts, weak", .setup = setup, .end = all_ended, .weak = true},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
