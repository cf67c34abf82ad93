/* Timing of anything that a stream can run: cold runs apart from warm ones, by the times of events. */
#ifndef DTP_THREADING_STREAMS_TIMED_RUN_H
#define DTP_THREADING_STREAMS_TIMED_RUN_H

#include "threading/streams/event.h"

/* One run. It began when the stream had come to `before` and it was submitted; without that event, when `done` says. */
typedef struct {
    dnnl_tp_event_t done, before;
    int64_t submit_ns;
} dtp_timed_t;
dnnl_tp_status_t dtp_timed_run(dnnl_tp_stream_t stream,
                               dnnl_tp_status_t (*submit)(void *arg, dtp_timed_t *run), void *arg,
                               const dnnl_tp_timed_run_opts_t *opts, dnnl_tp_timing_t *timing);

#endif
