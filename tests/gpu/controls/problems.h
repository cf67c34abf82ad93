/* Small problems that run every kernel of the CUDA engine. */
#ifndef TESTS_GPU_CONTROLS_PROBLEMS_H
#define TESTS_GPU_CONTROLS_PROBLEMS_H

#include "dnnl_tp/dnnl_tp.h"

/* Runs them all on the driver that is installed; ends the program where one fails. */
void run_problems(void);
/* Of these: the kinds of graph_problems.c. */
void run_graph_problems(dnnl_tp_engine_t gpu);

#endif
