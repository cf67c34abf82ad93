/* Tokens of a PTX text, and what parse.c and decode.c share. */
#ifndef DNNL_TP_TESTS_GPU_PTX_LEX_H
#define DNNL_TP_TESTS_GPU_PTX_LEX_H
#include "internal.h"

/* kind 'w': a word (names, numbers, opcodes and directives with their dots), 's': a string, 0: the end, else the character itself. */
typedef struct {
    const char *at;
    uint32_t bytes, line;
    char kind;
} token_t;

typedef struct variable {
    char *name;
    space_t space;
    size_t align, bytes, offset; /* offset: in the module's memory, for .global and .const */
    bool dynamic;
} variable_t;

typedef struct {
    char *name;
    size_t align, bytes;
} formal_t;

typedef struct {
    char *name;
    bool entry;
    formal_t *params, *results;
    int num_params, num_results, max_threads;
    uint32_t first, last; /* tokens of the body, without its braces; first == 0: declared only */
} function_t;

typedef struct {
    token_t *tokens;
    uint32_t at;
    ptx_module_t *module;
    function_t *functions;
    int num_functions;
    char *error;
    size_t error_bytes;
    bool failed;
} parser_t;

token_t *ptx_tokens(const char *text);
bool ptx_is(const token_t *t, const char *word);
char *ptx_word(const token_t *t); /* a copy */
/* Keeps the first message. Always false. */
bool ptx_fail(parser_t *p, uint32_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A number; f32 tells whether it is a float of 4 bytes (its bits), f64 of 8. False: it is not a number. */
bool ptx_number(const token_t *t, uint64_t *value, bool *f32, bool *f64);
type_t ptx_type(const char *name, size_t bytes);
size_t ptx_type_bytes(type_t type);
/* items[n], grown; never fails (ends the program without memory). */
void *ptx_grow(void *items, size_t n, size_t item_bytes);
/* Reads a declaration's qualifiers and name: .space .align n .type name [n]. The tokens stand after it. */
typedef struct {
    const token_t *name;
    type_t type;
    size_t align, elems;
    bool array, unsized;
    char space[12];
    uint32_t count; /* of name<count> */
} decl_t;
bool ptx_declaration(parser_t *p, decl_t *d);
/* Decodes one .entry into a kernel. */
bool ptx_decode(parser_t *p, const function_t *f, ptx_kernel_t *kernel);
#endif
