/* Memory of the program (common.h) that fails once, at the n-th allocation, and counts what is alive. */
#ifndef SE_FAILING_MEMORY_H
#define SE_FAILING_MEMORY_H

/* From now on allocation n (from 0) fails, once; n < 0: none does. Starts counting at 0. */
void failing_memory_arm(long n);
/* No allocation fails any more. Returns how many did. */
long failing_memory_disarm(void);
/* Blocks allocated while armed and not freed yet. */
long failing_memory_live(void);
/* Allocations since it was armed. */
long failing_memory_count(void);

/* Gives the library the same memory; before its first object exists. 0 on success. */
int failing_memory_use_in_library(void);

#endif
