/* Types that the files of lines share; see gpu_line.h. */
#ifndef DTP_GPU_ENGINE_GPU_LINE_PARTS_H
#define DTP_GPU_ENGINE_GPU_LINE_PARTS_H

#include "gpu/engine/gpu_line.h"

typedef struct mark {
    void *abandoned;
    struct mark *next; /* in the list of marks or of free ones */
    struct mark *all;  /* in the list of all that the line has made */
    dtp_gpu_line_t *line;
    dtp_cu_event_t cu;
    uint64_t seq;
    uint32_t generation;
    int refs; /* under lock: the list, `heard`, threads that look at it */
    bool ends, has_word;
    dtp_event_t *event;
    dtp_stream_run_t run;
    dtp_trace_work_t traced;
    int64_t *times;
    dtp_data_error_t *word; /* of pinned memory; NULL: not needed yet */
} mark_t;

/* A time that the device writes after `seq` marks. */
typedef struct stamp {
    struct stamp *next;
    _Atomic int64_t *word;  /* in pinned memory: the device's clock */
    dtp_cu_ptr_t there;     /* the word, as the device sees it */
    int64_t submit_ns, *ns; /* ns: gets the host's time, or NULL */
    uint64_t seq;
} stamp_t;

/* An event that the stream waits for after `seq` marks. */
typedef struct awaited {
    struct awaited *next;
    dtp_event_t *event; /* retained */
    uint64_t seq;
    uint32_t generation;
    /* the word that it writes; -1: the stream waits for the mark of a line of this device */
    int flag;
} awaited_t;

/* Under lock: the mark of a seq, with a reference, which keeps the line open. NULL: it is settled,
 * or a thread settles it. */
mark_t *dtp_gpu_mark_find_locked(dtp_gpu_line_t *line, uint64_t seq);
/* Drops that reference. */
void dtp_gpu_mark_drop(mark_t *m);
/* Settles the marks that the device has passed. */
void dtp_gpu_line_settle(dtp_gpu_line_t *line);
/* Notes that the device has passed mark `seq`, and settles. */
void dtp_gpu_line_passed(dtp_gpu_line_t *line, uint64_t seq);
/* Under lock: marks of the generation after `from` fail, unless they have failed. */
void dtp_gpu_line_fail_locked(dtp_gpu_line_t *line, uint32_t generation, uint64_t from,
                              dnnl_tp_status_t status, const char *text);
/* The stream has passed mark `seq`, so the events before it have ended. If one has failed, marks
 * of this generation after it fail. */
void dtp_gpu_line_look_at_awaited(dtp_gpu_line_t *line, uint64_t seq, uint32_t generation);
/* The first pending event before mark `seq`, retained, or NULL. */
dtp_event_t *dtp_gpu_line_parked(dtp_gpu_line_t *line, uint64_t seq);
/* Under lock: the same, only for events of lines of this device. */
dtp_event_t *dtp_gpu_line_followed_locked(dtp_gpu_line_t *line, uint64_t seq);
/* The stream has passed mark `seq`, so the times before it are written: gives them to their
 * callers. */
void dtp_gpu_line_look_at_stamps(dtp_gpu_line_t *line, uint64_t seq);
/* At the end of the line: frees the stamps that are left and their words. */
void dtp_gpu_line_drop_stamps(dtp_gpu_line_t *line);
/* The same for awaited events. */
void dtp_gpu_line_drop_awaited(dtp_gpu_line_t *line);
/* Frees stages; the stream has ended. */
void dtp_gpu_line_drop_stages(dtp_gpu_line_t *line);

#endif
