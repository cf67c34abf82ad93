/* The text form of graphs: types that its writer and its reader share. The language:
 * doc/graph_files.md.
 *
 * Writing (write.c) numbers values in the order of the text, so a text that is read and written
 * again does not change. Reading is one pass that calls the public building functions; lex.c makes
 * tokens and error texts, data.c the data of constants, lists.c names, types and lists, read.c
 * statements. Files: file.c.
 */
#ifndef DTP_EXEC_TEXT_TEXT_H
#define DTP_EXEC_TEXT_TEXT_H

#include <stdio.h>

#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "exec/graph/graph.h"

enum {
    DTP_TEXT_VERSION = 1,
    DTP_TEXT_INLINE = 64,    /* constants with at most so many elements are in the text */
    DTP_TEXT_NUMBER = 64,    /* longest number and longest word */
    DTP_TEXT_FILE_NAME = 256 /* of the file with data */
};
#define DTP_TEXT_SIDE ".data"

/* ---- Writing ----------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_graph_t *g;
    FILE *out;
    FILE *side;            /* data of large constants; made for the first one */
    char *side_path;       /* its path; belongs to the caller */
    const char *side_name; /* its name in the text */
    int64_t side_bytes;
    bool no_weights;
    dtp_arena_t arena;
    int32_t *numbers; /* of values in the text, -1 = not yet met */
    int32_t *functions;
    int nnumbers;
} dtp_text_writer_t;

dnnl_tp_status_t dtp_graph_text_write(dtp_text_writer_t *w);
/* Writes the part of a constant after "=". */
dnnl_tp_status_t dtp_text_write_data(dtp_text_writer_t *w, const dtp_gvalue_t *v);
void dtp_text_write_number(FILE *out, dnnl_tp_data_type_t type, const void *data, int64_t i);
void dtp_text_write_string(FILE *out, const char *text);
/* Nodes, and inputs and constants, by region in their order: those of region r are at first[r] ..
 * first[r + 1] - 1. */
typedef struct {
    const int32_t *nodes, *node_first, *values, *value_first;
} dtp_text_order_t;
dnnl_tp_status_t dtp_text_order(dtp_arena_t *arena, const dtp_graph_t *g, dtp_text_order_t *order);
/* Refuses graphs that cannot be written: those with a region without an operator. */
dnnl_tp_status_t dtp_text_check_graph(const dtp_graph_t *g);

dnnl_tp_status_t dtp_graph_dot_write(const dtp_graph_t *g, FILE *out);

/* ---- Reading ----------------------------------------------------------------------------------------- */

typedef enum {
    DTP_TOKEN_END,
    DTP_TOKEN_SIGN,     /* one of ( ) { } [ ] , = : ? _ */
    DTP_TOKEN_ARROW,    /* -> */
    DTP_TOKEN_WORD,     /* a name of the language */
    DTP_TOKEN_VALUE,    /* %name */
    DTP_TOKEN_FUNCTION, /* @name */
    DTP_TOKEN_STRING,   /* with its quotes */
    DTP_TOKEN_NUMBER
} dtp_token_kind_t;

typedef struct {
    dtp_token_kind_t kind;
    const char *at;
    size_t size;
} dtp_token_t;

typedef struct {
    const char *name; /* with its % or @; NULL = free */
    size_t size;
    int32_t number; /* value, or index of the function */
} dtp_text_name_t;

typedef struct {
    dnnl_tp_graph_t handle;
    bool defined;
} dtp_text_function_t;

typedef struct {
    const char *path; /* for messages and for files beside it; NULL: the text is in memory */
    const char *text, *end;
    dtp_token_t token; /* the next one */
    const dnnl_tp_graph_read_opts_t *opts;
    size_t constant_bytes; /* rest of the limit */
    dtp_arena_t arena;
    dtp_text_name_t *names; /* hash table */
    int nnames, cap_names;
    dtp_text_function_t *functions;
    int nfunctions, cap_functions;
    dnnl_tp_graph_t graph;
} dtp_text_reader_t;

/* Fills r->graph; on failure the caller destroys it. */
dnnl_tp_status_t dtp_graph_text_read(dtp_text_reader_t *r);

/* Fails with "path:line:column: text"; at: the position. Never returns success. */
dnnl_tp_status_t dtp_text_fail(const dtp_text_reader_t *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* Puts the position before the error text of a building call. */
dnnl_tp_status_t dtp_text_blame(const dtp_text_reader_t *r, const char *at, dnnl_tp_status_t status);
/* Reads the next token into r->token. */
dnnl_tp_status_t dtp_text_next(dtp_text_reader_t *r);
bool dtp_text_is(const dtp_text_reader_t *r, char sign);
bool dtp_text_is_word(const dtp_text_reader_t *r, const char *word);
/* Takes the sign or word if it is the next token. */
dnnl_tp_status_t dtp_text_accept(dtp_text_reader_t *r, char sign, bool *taken);
dnnl_tp_status_t dtp_text_accept_word(dtp_text_reader_t *r, const char *word, bool *taken);
/* Takes the sign or word, or fails. */
dnnl_tp_status_t dtp_text_expect(dtp_text_reader_t *r, char sign);
dnnl_tp_status_t dtp_text_expect_word(dtp_text_reader_t *r, const char *word);
/* Take a string if there is one ("" otherwise), and numbers. */
dnnl_tp_status_t dtp_text_string(dtp_text_reader_t *r, const char **text);
dnnl_tp_status_t dtp_text_integer(dtp_text_reader_t *r, int64_t *v);
dnnl_tp_status_t dtp_text_float(dtp_text_reader_t *r, bool single, double *v);
/* Takes 0x and all digits of so many bytes: 2, 4 or 8. */
dnnl_tp_status_t dtp_text_bits(dtp_text_reader_t *r, size_t bytes, void *to);
/* The values of an integer type. */
void dtp_text_range(dnnl_tp_data_type_t type, int64_t *lo, int64_t *hi);
/* One element of any type. */
dnnl_tp_status_t dtp_text_element(dtp_text_reader_t *r, dnnl_tp_data_type_t type, void *data, int64_t i);
/* Reads the data of a constant, after "=", and the recipe that made it (NULL: none). data has room
 * for the elements. */
dnnl_tp_status_t dtp_text_read_data(dtp_text_reader_t *r, const dnnl_tp_tensor_info_t *info, void *data,
                                    const char **recipe);

/* A list of values that a statement names, with their types. */
typedef struct {
    int32_t *values;
    dtp_token_t *names; /* of results */
    dnnl_tp_tensor_info_t *infos;
    int n, cap_values, cap_names, cap_infos;
    bool typed; /* each has a type */
} dtp_text_list_t;
/* Makes room for one more. */
dnnl_tp_status_t dtp_text_list_grow(dtp_text_reader_t *r, dtp_text_list_t *list);
/* Reads values with commas between them; ends before any other token. */
dnnl_tp_status_t dtp_text_values(dtp_text_reader_t *r, dtp_text_list_t *list);
/* The same in ( ). */
dnnl_tp_status_t dtp_text_inputs(dtp_text_reader_t *r, dtp_text_list_t *list);
/* Reads new names, each with or without a type; makes room for their numbers. */
dnnl_tp_status_t dtp_text_names(dtp_text_reader_t *r, dtp_text_list_t *list);
/* Binds the names to the values. */
dnnl_tp_status_t dtp_text_bind(dtp_text_reader_t *r, const dtp_text_list_t *list);
dnnl_tp_status_t dtp_text_define(dtp_text_reader_t *r, const dtp_token_t *name, int32_t number);
/* Takes a % or @ name and gives its number. */
dnnl_tp_status_t dtp_text_lookup(dtp_text_reader_t *r, dtp_token_kind_t kind, int32_t *number);
dnnl_tp_status_t dtp_text_type(dtp_text_reader_t *r, dnnl_tp_tensor_info_t *info);

#endif
