/* placeholder */
#include "exec/run.h"
void dtp_run_dag(dtp_run_ctx_t *ctx, const dtp_dag_t *dag) {
    (void)ctx;
    (void)dag;
}
