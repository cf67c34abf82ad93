/* Tokens that end runs. A run with a token links its stop word for as long as it lasts. Firing sets
 * the word of every linked run, so a run reads its own word only, and wakes its owner if it waits.
 */
#ifndef DTP_EXEC_RUN_CANCEL_H
#define DTP_EXEC_RUN_CANCEL_H

#include "exec/graph/graph.h"
#include "threading/base/sleeper.h"

/* Why a run ends early; the first reason stays. */
enum { DTP_STOP_NONE = 0, DTP_STOP_FAILED = 1, DTP_STOP_CANCELLED = 2, DTP_STOP_DEADLINE = 3 };

typedef struct dtp_cancel_link {
    struct dtp_cancel_link *next, *prev; /* under the token's lock */
    _Atomic uint32_t *stop;
    dtp_sleeper_t *sleeper;
    /* Used by the thread that fires, with `fired`: the next link whose function it calls. */
    dtp_resume_t resume;
    struct dtp_cancel_link *fired;
    /* Of forks: a child does not access links of threads that it does not have. */
    uint32_t generation;
} dtp_cancel_link_t;

struct dnnl_tp_cancel {
    dtp_object_t obj;
    dtp_lock_t lock;
    _Atomic int fired;
    dtp_cancel_link_t *first; /* of this generation: */
    uint32_t generation;
};

/* Sets the word unless it is set; true if this call did it. */
bool dtp_stop(_Atomic uint32_t *stop, uint32_t why);
/* Links a run; sets its word at once if the token was fired. Retains the token until unlink. */
void dtp_cancel_link(dnnl_tp_cancel_t cancel, dtp_cancel_link_t *link, _Atomic uint32_t *stop,
                     dtp_sleeper_t *sleeper);
void dtp_cancel_unlink(dnnl_tp_cancel_t cancel, dtp_cancel_link_t *link);

#endif
