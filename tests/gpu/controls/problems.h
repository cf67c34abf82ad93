/* Small problems that run every kernel of the CUDA engine. */
#ifndef TESTS_GPU_CONTROLS_PROBLEMS_H
#define TESTS_GPU_CONTROLS_PROBLEMS_H

/* Runs them all on the driver that is installed; ends the program where one fails. */
void run_problems(void);

#endif
