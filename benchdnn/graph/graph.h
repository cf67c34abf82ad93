/* benchdnn --graph=FILE: one graph from a file. */
#ifndef BD_GRAPH_H
#define BD_GRAPH_H

#include "common/bench.h"

/* Takes "--graph=FILE", "--dim=N", "--fill=NAME:..." and "--fill="; 0: another token. A file runs at once. */
int bd_graph_token(const char *tok);

#endif
