/* Timing of anything that a stream can run: cold runs apart from warm ones, by the stream's stamps,
 * or the times of events. */
#ifndef DTP_THREADING_STREAMS_TIMED_RUN_H
#define DTP_THREADING_STREAMS_TIMED_RUN_H

#include "threading/streams/event.h"

/* submit: submits one run, and gives the event after it. */
dnnl_tp_status_t dtp_timed_run(dnnl_tp_stream_t stream,
                               dnnl_tp_status_t (*submit)(void *arg, dnnl_tp_event_t *done), void *arg,
                               const dnnl_tp_timed_run_opts_t *opts, dnnl_tp_timing_t *timing);

#endif
