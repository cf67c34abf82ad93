/* Engines, pools and streams of our library; engine and stream of the peer. */
#ifndef BD_EXEC_H
#define BD_EXEC_H

#include "common/prb.h"

/* The library under test: ours, or the peer with --subject=peer. */
const bd_api_t *bd_subject(void);
int bd_threads(void); /* threads of the default context */
/* Whether the host cannot read the memory of the engine under test. Then tensors are uploaded and
 * downloaded. */
bool bd_is_far(const bd_api_t *api);
/* The engine itself, or a CPU engine if it is far. */
dnnl_tp_engine_t bd_host_engine(const bd_api_t *api);
dnnl_tp_engine_t bd_engine(const bd_api_t *);
/* Stream on a pool of this size (0 = default context). Streams and pools live until shutdown. */
dnnl_tp_stream_t bd_stream(const bd_api_t *, int threads);
void bd_exec_shutdown(void);

/* ---- peer.c ------------------------------------------------------------------------------------------ */
/* NULL without --peer; ends the program if the peer cannot be loaded. */
const bd_api_t *bd_peer(void);
const char *bd_peer_version(void);
/* Ends the peer's idle team (omp_pause_resource_all), if its runtime can. */
void bd_peer_rest(void);

#endif
