/* What the tool of tests has recorded of ranges (libnvtxtool.c), which a test finds by its name in the loaded library. */
#ifndef TESTS_GPU_NVTX_TOOL_H
#define TESTS_GPU_NVTX_TOOL_H

enum { NVTX_TOOL_MOST = 4096, NVTX_TOOL_NAME = 64, NVTX_TOOL_DEPTH = 8 };

typedef struct {
    int attached, domains; /* calls */
    char domain[NVTX_TOOL_NAME];
    int n, wrongs; /* ranges, in the order of their begins; ends without a begin, other domains */
    struct {
        int thread; /* 1, 2, ... in the order of their first ranges */
        int depth, ended;
        char name[NVTX_TOOL_NAME];
    } range[NVTX_TOOL_MOST];
} nvtx_tool_t;

/* nvtx_tool_records: what was recorded so far, without a lock. nvtx_tool_current: the index of the range that this thread is in, -1: none. */
typedef nvtx_tool_t *(*nvtx_tool_records_t)(void);
typedef int (*nvtx_tool_current_t)(void);

#endif
