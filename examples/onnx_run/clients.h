/* Timed runs: clients, each a thread in a loop, on the one pool. */
#ifndef ONNX_RUN_CLIENTS_H
#define ONNX_RUN_CLIENTS_H

#include "model.h"

/* Runs o->clients threads, each o->warmup untimed and o->repeat timed runs, and prints their times. */
int clients_run(const job_t *j, se_error_t *error);

#endif
