/* Reading and printing the small things of the command line: numbers, lists, names, tags. No state. */
#ifndef BD_PARSE_H
#define BD_PARSE_H

#include "common/bench.h"

#define BD_TAG 48

/* All return 0 on success and leave the output alone otherwise. */
int bd_parse_int(const char *s, long *out); /* strict: no trailing junk */
int bd_parse_float(const char *s, float *out);
/* Appends the shortest text that reads back as v; without '+', which joins attributes. */
void bd_print_float(char *out, size_t size, float v);
int bd_parse_bool(const char *s, bool *out);
int bd_parse_dt(const char *s, int *out);
const char *bd_dt_name(int dt);
/* "2x3x4" -> number of dimensions, -1 on error. */
int bd_parse_dims(const char *s, int64_t *d);
void bd_print_dims(char *out, size_t size, int nd, const int64_t *d);

/* Cuts s at the first sep: copies the part to buf and returns what follows it, NULL at the end; an empty last
 * part is returned as "". */
const char *bd_cut(const char *s, char sep, char *buf, size_t size);

/* The peer knows this algorithm; we only know its name. */
#define BD_ALG_SOFTMAX_INF_AS_ZERO 0x30002

/* Names of algorithms: (alg, canonical name). Aliases with the primitive's prefix are accepted. */
int bd_parse_eltwise_alg(const char *s, int *out);
int bd_parse_binary_alg(const char *s, int *out);
int bd_parse_reduction_alg(const char *s, int *out);
int bd_parse_softmax_alg(const char *s, int *out);
int bd_parse_resampling_alg(const char *s, int *out);
int bd_parse_pooling_alg(const char *s, int *out);
const char *bd_alg_name(int alg);

/* ---- tags.c ------------------------------------------------------------------------------------------ */
typedef struct {
    int n;                   /* letters; 0 for any, undef */
    int order[BD_MAX_NDIMS]; /* outermost first */
    int nblk, blk[BD_MAX_NDIMS], idx[BD_MAX_NDIMS];
} bd_tag_t;

bool bd_tag_syntax(const char *s); /* is it a tag at all? */
bool bd_tag_is(const char *s, const char *what);
/* Expands meta letters ('x') and named tags for ndims; result "" when it does not fit. */
void bd_tag_expand(const char *s, int ndims, char *out, size_t size);
int bd_tag_decode(const char *expanded, bd_tag_t *out);

#endif
