/* Where things run: engines, pools and streams of ours, engine and stream of the peer. */
#ifndef BD_EXEC_H
#define BD_EXEC_H

#include "common/prb.h"

/* The library under examination: ours, or the peer with --subject=peer. */
const bd_api_t *bd_subject(void);
int bd_threads(void); /* threads of the default context */
/* Does the engine that is examined have a memory that the host cannot read? Tensors are uploaded and downloaded. */
bool bd_is_far(const bd_api_t *api);
/* The engine itself, or the CPU's where it is far. */
dnnl_tp_engine_t bd_host_engine(const bd_api_t *api);
dnnl_tp_engine_t bd_engine(const bd_api_t *);
/* Stream on a pool of this size (0 = default context). Streams and pools live until shutdown. */
dnnl_tp_stream_t bd_stream(const bd_api_t *, int threads);
void bd_exec_shutdown(void);

/* ---- peer.c ------------------------------------------------------------------------------------------ */
const bd_api_t *bd_peer(void); /* NULL without --peer; ends the program when it cannot be loaded */
const char *bd_peer_version(void);
/* Ends the peer's idle team (omp_pause_resource_all), if its runtime can. */
void bd_peer_rest(void);

#endif
