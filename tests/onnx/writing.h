/* Models made byte by byte, and what the importer makes of them. */
#ifndef TESTS_ONNX_WRITING_H
#define TESTS_ONNX_WRITING_H

#include "onnx/dnnl_tp_onnx.h"
#include "support/check.h"

enum { ROOM = 1 << 16 };
typedef struct {
    uint8_t at[ROOM];
    size_t n;
} bytes_t;

/* Fields of the messages, by their numbers in onnx.proto. */
enum { M_IR = 1, M_GRAPH = 7, M_OPSET = 8, M_FUNCTION = 25 };
enum { G_NODE = 1, G_NAME = 2, G_INITIALIZER = 5, G_INPUT = 11, G_OUTPUT = 12 };
enum { N_INPUT = 1, N_OUTPUT = 2, N_NAME = 3, N_OP = 4, N_ATTR = 5, N_DOMAIN = 7, N_OVERLOAD = 8 };
enum {
    T_DIMS = 1,
    T_TYPE = 2,
    T_FLOATS = 4,
    T_INTS = 5,
    T_NAME = 8,
    T_RAW = 9,
    T_EXTERNAL = 13,
    T_LOCATION = 14
};
enum { A_NAME = 1, A_TENSOR = 5, A_GRAPH = 6, A_TYPE = 20 };
enum { FLOAT = 1, UINT8 = 2, INT8 = 3, INT32 = 6, INT64 = 7, STRING = 8, BOOL = 9, FLOAT16 = 10, INT4 = 22 };

/* Shapes, and data of them. */
extern const int64_t four[1], two_by_n[2];
extern const float one_to_four[4], doubled[4];

/* Fields of messages. */
void put_varint(bytes_t *b, uint64_t v);
void put_int(bytes_t *b, unsigned field, uint64_t v);
void put_bytes(bytes_t *b, unsigned field, const void *data, size_t n);
void put_text(bytes_t *b, unsigned field, const char *s);
void put_message(bytes_t *b, unsigned field, const bytes_t *m);
/* A node of a graph; in2 NULL: it has one input. */
void put_node(bytes_t *g, const char *op, const char *name, const char *in, const char *in2, const char *out);
/* The attribute of a node that holds a graph. */
void put_graph_attr(bytes_t *n, const char *name, const bytes_t *g);
/* An input or output; dims -2: the symbol "p", others below 0: "n". */
void put_value(bytes_t *g, unsigned field, const char *name, int type, int ndims, const int64_t *dims);
/* An initializer. */
void put_raw(bytes_t *g, const char *name, int type, int ndims, const int64_t *dims, const void *data,
             size_t n);
void put_model(bytes_t *m, const bytes_t *graph, int ir, int opset);
/* y = op(x, w), x {4}, w {4} = 1, 2, 3, 4; in2: w, or another name */
void small(bytes_t *m, const char *op, const char *in2, int ir, int opset);
/* y = x + w, x {4}, w {4}, which is 1, 2, 3, 4 unless it is given */
void with_default(bytes_t *m);
/* The n-th allocation of a call fails, for n = 0, 1, ... until it succeeds: out_of_memory, and nothing leaks. keeps: after success
 * the process may keep something. How many allocations there are. */
int fails_by_allocation(dnnl_tp_status_t (*call)(const bytes_t *m), const bytes_t *m, bool keeps);
/* Makes a graph of m and destroys it. */
dnnl_tp_status_t import_and_destroy(const bytes_t *m);
/* Opens a copy of m and makes a graph of it. */
dnnl_tp_status_t import_with(const bytes_t *m, const dnnl_tp_onnx_open_opts_t *open,
                             const dnnl_tp_onnx_graph_opts_t *opts, dnnl_tp_graph_t *graph);
/* The status, and a part of the text. */
void refused(const bytes_t *m, dnnl_tp_status_t wanted, const char *text);
/* The model with one input and one output gives these n elements. */
void runs(const bytes_t *m, const dnnl_tp_onnx_open_opts_t *open, const dnnl_tp_onnx_graph_opts_t *opts,
          const float *in, const float *want, size_t n);

#endif
