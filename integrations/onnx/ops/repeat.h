/* A While of the graph. */
#ifndef DTP_ONNX_OPS_REPEAT_H
#define DTP_ONNX_OPS_REPEAT_H

#include "onnx/context.h"

enum { DTP_REPEAT_MOST = 130 };
typedef struct {
    cv_t *cv;
    dnnl_tp_graph_t around, cond, body;
    val_t *index; /* of the iteration, s64 */
    int n;
    val_t *init[DTP_REPEAT_MOST], *inside[DTP_REPEAT_MOST], *next[DTP_REPEAT_MOST];
} dtp_repeat_t;

/* Converters set im->graph to cond, where they compute the condition, then to body. The index is variable 0. */
void dtp_repeat_begin(dtp_repeat_t *r, cv_t *cv);
/* The next variable: what the body sees of it. */
val_t *dtp_repeat_variable(dtp_repeat_t *r, val_t *init);
/* What a variable becomes; name: for texts. */
void dtp_repeat_next(dtp_repeat_t *r, const val_t *variable, val_t *next, const char *name);
/* The next variable: what iterations make, {steps, ...}; x is what this one makes, `at` where it stands. */
void dtp_repeat_collect(dtp_repeat_t *r, int64_t steps, val_t *at, val_t *x);
/* With its first value, {steps, ...}, for steps that a run tells. */
void dtp_repeat_collect_in(dtp_repeat_t *r, val_t *room, val_t *at, val_t *x);
/* results: of all variables. im->graph is again what it was. Also after a failure. */
void dtp_repeat_end(dtp_repeat_t *r, val_t *condition, val_t **results);

#endif
