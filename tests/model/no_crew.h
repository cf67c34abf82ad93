/* Checks of the flow engine without the crew that joins a run. Included once per check, after the source of
 * flow_run.c. */
#ifndef DTP_MODEL_NO_CREW_H
#define DTP_MODEL_NO_CREW_H

#include "threading/crew.h"

bool dtp_crew_prospect(dtp_crew_t *crew, const dtp_parallel_t *par, int64_t est_ns) {
    (void)crew, (void)par, (void)est_ns;
    return false;
}
bool dtp_crew_open(dtp_crew_t *crew, const dtp_parallel_t *par, int participants, dtp_loop_fn_t fn,
                   void *arg) {
    (void)crew, (void)par, (void)participants, (void)fn, (void)arg;
    return false;
}
int dtp_crew_want(dtp_crew_t *crew, int count, int64_t est_ns) {
    (void)crew, (void)count, (void)est_ns;
    return 0;
}
bool dtp_crew_is_full(const dtp_crew_t *crew) {
    (void)crew;
    return false;
}
bool dtp_crew_must_leave(const dtp_crew_t *crew) {
    (void)crew;
    return false;
}
bool dtp_crew_help(dtp_crew_t *crew) {
    (void)crew;
    return false;
}
void dtp_crew_close(dtp_crew_t *crew) { (void)crew; }

#endif
