/* Counts the calls of the C library's allocators from program and library (the linker's --wrap). */
#ifndef SE_COUNTED_MALLOC_H
#define SE_COUNTED_MALLOC_H

void counted_malloc_start(void);
long counted_malloc_stop(void);

#endif
