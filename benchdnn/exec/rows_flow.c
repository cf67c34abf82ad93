#include "exec_bench.h"
void eb_rows_flow(void) {}
