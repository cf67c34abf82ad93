#include "exec_bench.h"
void eb_rows_system(void) {}
