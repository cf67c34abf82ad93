/* What decode.c (statements, scopes), decode_operands.c and opcodes.c (one function for each kind of instruction) share. */
#ifndef DNNL_TP_TESTS_GPU_PTX_DECODE_H
#define DNNL_TP_TESTS_GPU_PTX_DECODE_H
#include <string.h>

#include "lex.h"

enum { MAX_PARTS = 16, MAX_TEXT_OPERANDS = 8 };

typedef struct {
    const token_t *name;
    uint32_t row, count; /* count: of name<count>, 0: one register */
    uint8_t width;
} reg_t;

typedef struct {
    const token_t *name; /* or NULL and text */
    const char *text;
    space_t space;
    uint64_t offset;
    bool dynamic;
} symbol_t;

/* A label, or a branch (or an entry of a branch table) to one. */
typedef struct {
    const token_t *name;
    uint32_t scope, at;
    bool table;
} label_t;

/* Tokens of one operand of the text: without brackets or braces, whose kind is kept. */
typedef struct {
    uint32_t first, n;
    char kind;                     /* 'w', '[' or '{' */
    bool invert, minus, after_bar; /* after_bar: the second of d|p */
} text_operand_t;

typedef struct {
    parser_t *p;
    ptx_kernel_t *k;
    reg_t *regs;
    symbol_t *symbols;
    fill_t *constants;
    label_t *labels, *branches;
    uint32_t *scope_parent, *returns;
    uint32_t num_regs, num_symbols, num_labels, num_branches, num_scopes, num_returns, num_constants;
    uint32_t reg_base, symbol_base, scope; /* what an expanded call may see starts there */
    int depth;                             /* of expanded calls */
    /* the statement being decoded */
    const token_t *opcode;
    char parts[MAX_PARTS][24];
    int num_parts;
    text_operand_t ops[MAX_TEXT_OPERANDS];
    int num_ops;
} decoder_t;

static inline const token_t *ptx_token(const decoder_t *d, uint32_t i) { return &d->p->tokens[i]; }
static inline const token_t *ptx_here(const decoder_t *d) { return ptx_token(d, d->p->at); }

static inline bool ptx_same(const token_t *a, const token_t *b) {
    return a->bytes == b->bytes && memcmp(a->at, b->at, a->bytes) == 0;
}

bool ptx_refuse(decoder_t *d, const char *what);
bool ptx_has(const decoder_t *d, const char *part);
/* Appends operand i of the text as a destination or a source of the instruction. width: bytes the instruction works on;
 * `any`: the register may be of another size. */
bool ptx_dst(decoder_t *d, insn_t *in, int i, size_t width, bool any);
bool ptx_src(decoder_t *d, insn_t *in, int i, type_t type, size_t width, bool any);
/* The registers of {a,b,..} (or one register) as destinations or sources; returns how many, 0: refused. */
int ptx_dst_list(decoder_t *d, insn_t *in, int i, size_t width, bool any);
int ptx_src_list(decoder_t *d, insn_t *in, int i, type_t type, size_t width, bool any);
/* [base+offset] as a source; a variable of another space (parameters of expanded calls) changes *space. */
bool ptx_address(decoder_t *d, insn_t *in, int i, int64_t *offset, uint8_t *space);
bool ptx_branch_to(decoder_t *d, int i, bool table, uint32_t at);
bool ptx_call(decoder_t *d);
/* Sets exec and operands of the instruction from the statement. */
bool ptx_decode_opcode(decoder_t *d, insn_t *in);

/* ---- Of decode_operands.c, for decode.c ---- */

/* The first of new rows for `count` registers of `width` bytes. */
uint32_t ptx_new_rows(decoder_t *d, size_t width, uint32_t count);
/* Writes the constants of a kernel as rows, for all warps. */
void ptx_lay_out_constants(decoder_t *d);
/* The register or variable with a name in the scopes around; false or NULL: there is none. */
bool ptx_find_register(const decoder_t *d, const token_t *t, uint16_t *row, uint8_t *width);
const symbol_t *ptx_find_symbol(const decoder_t *d, const token_t *t);
void ptx_add_symbol(decoder_t *d, symbol_t s);
/* Reports a name that is not known; false. */
bool ptx_unknown(decoder_t *d, const token_t *t);
/* The offset of n bytes that are appended to *bytes. */
uint64_t ptx_place(size_t *bytes, size_t align, size_t n);
#endif
