/* The CPU engine: instruction sets, caches, implementation lists, streams. */
#ifndef DTP_CPU_ENGINE_CPU_ENGINE_H
#define DTP_CPU_ENGINE_CPU_ENGINE_H

#include "common/primitive/primitive_desc.h"

/* DTP_ISA_* bits of processor and system together. */
unsigned dtp_cpu_isa_bits(void);
/* The same within the process's limit, which is fixed from now on: for calls without an engine. */
unsigned dtp_cpu_process_isa(void);
/* Size of the data cache of level 1, 2 or 3. */
int64_t dtp_cpu_cache_bytes(int level);

/* src/cpu/engine/cpu_stream.c */
dnnl_tp_status_t dtp_cpu_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                       const dtp_stream_attr_t *attr);

#endif
