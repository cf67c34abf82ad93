/* One function for each kind of instruction: from the statement's parts and operands to an insn_t. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode.h"

static type_t part_type(const decoder_t *d, int i) {
    return i > 0 && i < d->num_parts ? ptx_type(d->parts[i], strlen(d->parts[i])) : T_NONE;
}
static type_t last_type(const decoder_t *d) { return part_type(d, d->num_parts - 1); }

static bool one_of(const char *part, const char *list) {
    size_t n = strlen(part);
    for (const char *c = list; (c = strstr(c, part)); c += n)
        if ((c == list || c[-1] == ' ') && (c[n] == 0 || c[n] == ' ')) return true;
    return false;
}

/* All parts but the types are in the list. */
static bool only(decoder_t *d, const char *list) {
    for (int i = 1; i < d->num_parts; ++i)
        if (part_type(d, i) == T_NONE && !one_of(d->parts[i], list))
            return ptx_refuse(d, "a qualifier that is unknown here");
    return true;
}

static uint8_t round_of(const decoder_t *d) {
    static const char *const names[] = {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (ptx_has(d, names[i])) return (uint8_t)(ROUND_RN + i);
    return ROUND_NONE;
}

static bool no_more(decoder_t *d, int n) {
    return d->num_ops == n || ptx_refuse(d, "a wrong number of operands");
}

static size_t letter_width(char c) { return c == 'p' ? 1 : c == 'h' ? 2 : c == 'w' ? 4 : 8; }

/* Operands by letters, such as "w:ww". */
static bool letters(decoder_t *d, insn_t *in, const char *letter, type_t type) {
    bool sources = false;
    int i = 0;
    for (; *letter; ++letter) {
        if (*letter == ':') {
            sources = true;
        } else if (!sources) {
            if (!ptx_dst(d, in, i++, letter_width(*letter), false)) return false;
        } else if (!ptx_src(d, in, i++, type, letter_width(*letter), false)) {
            return false;
        }
    }
    return no_more(d, i);
}

/* Registers in, registers out: looked up by name. */
static bool decode_pure(decoder_t *d, insn_t *in) {
    char name[96];
    int n = snprintf(name, sizeof name, "%s", d->parts[0]);
    type_t type = last_type(d);
    bool real = type == T_F32 || type == T_F64 || type == T_F16 || type == T_BF16 || type == T_F16X2 ||
                type == T_BF16X2;
    for (int i = 1; i < d->num_parts; ++i) {
        const char *part = d->parts[i];
        if (real && one_of(part, "ftz sat rn rz rm rp")) continue;
        if (n + 1 + (int)strlen(part) >= (int)sizeof name) return ptx_refuse(d, "unknown");
        n += snprintf(name + n, sizeof name - (size_t)n, ".%s", part);
    }
    const char *operands = NULL;
    in->pure = ptx_find_int(name, &operands);
    if (!in->pure) in->pure = ptx_find_float(name, &operands);
    if (!in->pure) in->pure = ptx_find_half(name, &operands);
    if (!in->pure) return ptx_refuse(d, "unknown instruction");
    in->type = (uint8_t)type;
    if (real) {
        in->ftz = ptx_has(d, "ftz");
        in->sat = ptx_has(d, "sat");
        in->round = round_of(d);
        if (in->round > ROUND_RN && type != T_F32 && type != T_F64)
            return ptx_refuse(d, "rounding that is unknown here");
    }
    in->exec = ptx_exec_pure;
    return letters(d, in, operands, type);
}

static bool decode_mov(decoder_t *d, insn_t *in) {
    type_t type = last_type(d);
    size_t bytes = ptx_type_bytes(type);
    if (!bytes || bytes > 8 || !only(d, "") || !no_more(d, 2)) return ptx_refuse(d, "unknown");
    in->type = (uint8_t)type;
    if (d->ops[0].kind == '{') {
        in->exec = ptx_exec_unpack;
        return ptx_dst_list(d, in, 0, 0, true) && ptx_src(d, in, 1, type, bytes, true);
    }
    if (d->ops[1].kind == '{') {
        in->exec = ptx_exec_pack;
        text_operand_t o = d->ops[1];
        size_t n = 1;
        for (uint32_t i = o.first; i < o.first + o.n; ++i) n += d->p->tokens[i].kind == ',';
        return ptx_dst(d, in, 0, bytes, true) && ptx_src_list(d, in, 1, type, bytes / n, true);
    }
    in->exec = ptx_exec_mov;
    /* Special registers are of 32 bits; mov.u16 and mov.u64 of them are allowed. */
    return ptx_dst(d, in, 0, bytes, true) && ptx_src(d, in, 1, type, bytes, true);
}

static bool decode_cvta(decoder_t *d, insn_t *in) {
    uint64_t window = ptx_has(d, "shared")  ? PTX_SHARED_WINDOW
                      : ptx_has(d, "local") ? PTX_LOCAL_WINDOW
                      : ptx_has(d, "param") ? PTX_PARAM_WINDOW
                                            : 0;
    if (!only(d, "to global shared local const param shared::cta") || last_type(d) != T_U64)
        return ptx_refuse(d, "unknown");
    if (ptx_has(d, "shared::cta")) window = PTX_SHARED_WINDOW;
    const char *operands;
    in->exec = ptx_exec_pure;
    in->pure = ptx_find_int("cvta", &operands);
    in->offset = ptx_has(d, "to") ? -(int64_t)window : (int64_t)window;
    return letters(d, in, operands, T_U64);
}

static bool decode_cvt(decoder_t *d, insn_t *in) {
    if (!only(d, "rn rz rm rp rna rni rzi rmi rpi ftz sat")) return false;
    type_t from = last_type(d), to = part_type(d, d->num_parts - 2);
    if (to == T_NONE) return ptx_refuse(d, "unknown");
    in->type = (uint8_t)to;
    in->type2 = (uint8_t)from;
    in->round = round_of(d);
    in->ftz = ptx_has(d, "ftz");
    in->sat = ptx_has(d, "sat");
    in->exec = ptx_exec_pure;
    if (to == T_F16X2 || to == T_BF16X2) {
        in->pure = ptx_convert_pair;
        return from == T_F32 ? letters(d, in, "w:ww", T_F32) : ptx_refuse(d, "unknown types");
    }
    if (to == T_TF32 ? from != T_F32 : from == T_TF32 || ptx_type_bytes(to) > 8)
        return ptx_refuse(d, "unknown types");
    in->pure = ptx_convert;
    return no_more(d, 2) && ptx_dst(d, in, 0, ptx_type_bytes(to), true) &&
           ptx_src(d, in, 1, from, ptx_type_bytes(from), true);
}

/* setp.cmp[.bool][.ftz].type p[|q], a, b[, [!]c] and set.cmp[.bool][.ftz].dtype.stype d, a, b[, [!]c] */
static bool decode_compare(decoder_t *d, insn_t *in) {
    static const struct {
        const char *name;
        int op;
    } compares[] = {{"eq", CMP_EQ},   {"ne", CMP_NE},   {"lt", CMP_LT},   {"le", CMP_LE},   {"gt", CMP_GT},
                    {"ge", CMP_GE},   {"lo", CMP_LT},   {"ls", CMP_LE},   {"hi", CMP_GT},   {"hs", CMP_GE},
                    {"equ", CMP_EQU}, {"neu", CMP_NEU}, {"ltu", CMP_LTU}, {"leu", CMP_LEU}, {"gtu", CMP_GTU},
                    {"geu", CMP_GEU}, {"num", CMP_NUM}, {"nan", CMP_NAN}};
    int op = -1, i = 0;
    for (size_t k = 0; k < sizeof compares / sizeof *compares; ++k)
        if (d->num_parts > 1 && strcmp(d->parts[1], compares[k].name) == 0) op = compares[k].op;
    if (op < 0) return ptx_refuse(d, "unknown comparison");
    for (int k = 2; k < d->num_parts; ++k)
        if (part_type(d, k) == T_NONE && !one_of(d->parts[k], "and or xor ftz"))
            return ptx_refuse(d, "unknown");
    in->op = (uint8_t)op;
    in->op2 = ptx_has(d, "and")   ? BOOL_AND
              : ptx_has(d, "or")  ? BOOL_OR
              : ptx_has(d, "xor") ? BOOL_XOR
                                  : BOOL_NONE;
    in->ftz = ptx_has(d, "ftz");
    type_t type = last_type(d);
    size_t bytes = ptx_type_bytes(type);
    in->type = (uint8_t)type;
    in->exec = ptx_exec_pure;
    in->pure = ptx_compare;
    if (bytes < 2 || bytes > 8 || type == T_TF32) return ptx_refuse(d, "unknown type");
    if (strcmp(d->parts[0], "set") == 0) {
        type_t to = part_type(d, d->num_parts - 2);
        in->type2 = (uint8_t)to;
        if (to != T_U32 && to != T_S32 && to != T_F32 && to != T_F16 && to != T_BF16 && to != T_F16X2 &&
            to != T_BF16X2 && to != T_U16 && to != T_S16)
            return ptx_refuse(d, "unknown type");
        if (!ptx_dst(d, in, i++, ptx_type_bytes(to), false)) return false;
    } else {
        if (type == T_BF16X2 || type == T_F16X2) {
            if (d->num_ops < 2 || !d->ops[1].after_bar) return ptx_refuse(d, "unknown");
        }
        if (!ptx_dst(d, in, i++, 1, false)) return false;
        if (i < d->num_ops && d->ops[i].after_bar && !ptx_dst(d, in, i++, 1, false)) return false;
    }
    for (int k = 0; k < 2; ++k)
        if (!ptx_src(d, in, i++, type, bytes, false)) return false;
    if (in->op2 != BOOL_NONE && !ptx_src(d, in, i++, T_PRED, 1, false)) return false;
    return no_more(d, i);
}

static bool decode_selp(decoder_t *d, insn_t *in) {
    static const char *const names[] = {"selp.b16", "selp.b32", "selp.b64"};
    size_t bytes = ptx_type_bytes(last_type(d));
    const char *operands;
    if (!only(d, "") || bytes < 2 || bytes > 8) return ptx_refuse(d, "unknown");
    in->exec = ptx_exec_pure;
    in->pure = ptx_find_int(names[bytes == 2 ? 0 : bytes == 4 ? 1 : 2], &operands);
    return letters(d, in, operands, last_type(d));
}

static const char memory_qualifiers[] =
    "param global shared const local param::entry param::func shared::cta nc weak volatile relaxed acquire "
    "release acq_rel cta gpu sys cluster "
    "ca cg cs lu cv wb wt cop L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last "
    "L1::no_allocate L2::cache_hint L2::64B "
    "L2::128B L2::256B L2::evict_last L2::evict_normal L2::evict_first v2 v4 v8 async";

static uint8_t space_of(const decoder_t *d) {
    if (ptx_has(d, "global")) return SPACE_GLOBAL;
    if (ptx_has(d, "shared") || ptx_has(d, "shared::cta")) return SPACE_SHARED;
    if (ptx_has(d, "local")) return SPACE_LOCAL;
    if (ptx_has(d, "const")) return SPACE_CONST;
    return ptx_has(d, "param") || ptx_has(d, "param::entry") || ptx_has(d, "param::func") ? SPACE_PARAM
                                                                                          : SPACE_GENERIC;
}

static bool decode_ld_st(decoder_t *d, insn_t *in) {
    bool load = strcmp(d->parts[0], "st") != 0;
    type_t type = last_type(d);
    size_t bytes = ptx_type_bytes(type);
    if (!only(d, memory_qualifiers)) return false;
    if (!bytes || bytes > 8 || type == T_PRED) return ptx_refuse(d, "unknown type");
    int vec = ptx_has(d, "v8") ? 8 : ptx_has(d, "v4") ? 4 : ptx_has(d, "v2") ? 2 : 1;
    in->vec = (uint8_t)vec;
    in->type = (uint8_t)type;
    in->space = space_of(d);
    in->relaxed =
        ptx_has(d, "volatile") || ptx_has(d, "relaxed") || ptx_has(d, "acquire") || ptx_has(d, "release");
    in->exec = load ? ptx_exec_ld : ptx_exec_st;
    if (load && ptx_dst_list(d, in, 0, bytes, true) != vec) return ptx_refuse(d, "a list of another length");
    if (!ptx_address(d, in, load ? 1 : 0, &in->offset, &in->space)) return false;
    if (!load && ptx_src_list(d, in, 1, type, bytes, true) != vec)
        return ptx_refuse(d, "a list of another length");
    return no_more(d, ptx_has(d, "L2::cache_hint") ? 3 : 2);
}

static bool decode_atom(decoder_t *d, insn_t *in) {
    static const char *const ops[] = {"add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"};
    bool red = strcmp(d->parts[0], "red") == 0;
    type_t type = last_type(d);
    size_t bytes = ptx_type_bytes(type);
    int op = -1, i = 0;
    for (int k = 0; k < 10; ++k)
        if (ptx_has(d, ops[k])) op = k;
    for (int k = 1; k < d->num_parts; ++k)
        if (part_type(d, k) == T_NONE && !one_of(d->parts[k], memory_qualifiers) &&
            !(op >= 0 && strcmp(d->parts[k], ops[op]) == 0) && strcmp(d->parts[k], "noftz") != 0)
            return ptx_refuse(d, "a qualifier that is unknown here");
    if (op < 0 || bytes < 2 || bytes > 8 || ptx_has(d, "v2") || ptx_has(d, "v4"))
        return ptx_refuse(d, "unknown");
    if (bytes == 2 && (op != 0 || (type != T_F16 && type != T_BF16)) && op != 4)
        return ptx_refuse(d, "unknown type");
    if (type == T_TF32) return ptx_refuse(d, "unknown type");
    if ((type == T_F32 || type == T_F64 || type == T_F16X2 || type == T_BF16X2) && op != 0)
        return ptx_refuse(d, "unknown type");
    in->op = (uint8_t)op;
    in->type = (uint8_t)type;
    in->space = space_of(d);
    in->exec = ptx_exec_atom;
    if (!red && !ptx_dst(d, in, i++, bytes, false)) return false;
    if (!ptx_address(d, in, i++, &in->offset, &in->space)) return false;
    if (!ptx_src(d, in, i++, type, bytes, false) || (op == 4 && !ptx_src(d, in, i++, type, bytes, false)))
        return false;
    return no_more(d, i + ptx_has(d, "L2::cache_hint"));
}

static bool decode_isspacep(decoder_t *d, insn_t *in) {
    if (!only(d, "global shared local const param shared::cta")) return false;
    in->space = space_of(d);
    in->exec = ptx_exec_isspacep;
    return letters(d, in, "p:d", T_U64);
}

static bool decode_bra(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_bra;
    return only(d, "uni") && no_more(d, 1) && ptx_branch_to(d, 0, false, d->k->num_code);
}

static bool decode_brx(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_brx;
    return only(d, "idx uni") && no_more(d, 2) && ptx_src(d, in, 0, T_U32, 4, false) &&
           ptx_branch_to(d, 1, false, d->k->num_code);
}

static bool decode_ret(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_ret;
    if (d->depth && strcmp(d->parts[0], "ret") == 0) {
        in->exec = ptx_exec_bra;
        d->returns = ptx_grow(d->returns, d->num_returns, sizeof *d->returns);
        d->returns[d->num_returns++] = d->k->num_code;
    }
    return only(d, "uni") && no_more(d, 0);
}

static bool decode_trap(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_trap;
    return only(d, "") && no_more(d, 0);
}

static bool decode_bar(decoder_t *d, insn_t *in) {
    if (d->num_parts > 1 && strcmp(d->parts[1], "warp") == 0) {
        in->exec = ptx_exec_bar_warp;
        return only(d, "warp sync") && no_more(d, 1) && ptx_src(d, in, 0, T_B32, 4, false);
    }
    if (!only(d, "sync arrive aligned cta")) return false;
    in->exec = ptx_exec_bar;
    in->op = ptx_has(d, "arrive");
    for (int i = 0; i < d->num_ops; ++i)
        if (!ptx_src(d, in, i, T_B32, 4, false)) return false;
    return (d->num_ops >= (in->op ? 2 : 1) && d->num_ops <= 2) || ptx_refuse(d, "a wrong number of operands");
}

/* Fences need no work: blocks run one by one. */
static bool decode_nop(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_nop;
    return only(d, "gl cta sys gpu cluster sc acq_rel acquire release L1 L2 global shared wait "
                   "launch_dependents prefetch L1::evict_last") ||
           false;
}

static bool decode_policy(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_pure;
    const char *operands;
    in->pure = ptx_find_int("createpolicy", &operands);
    return last_type(d) == T_B64 && ptx_has(d, "fractional") ? ptx_dst(d, in, 0, 8, false)
                                                             : ptx_refuse(d, "unknown");
}

static bool decode_shfl(decoder_t *d, insn_t *in) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    if (!only(d, "sync up down bfly idx") || last_type(d) != T_B32 || !ptx_has(d, "sync"))
        return ptx_refuse(d, "unknown");
    int i = 0;
    for (uint8_t k = 0; k < 4; ++k)
        if (ptx_has(d, modes[k])) in->op = k;
    in->exec = ptx_exec_shfl;
    if (!ptx_dst(d, in, i++, 4, false)) return false;
    if (i < d->num_ops && d->ops[i].after_bar && !ptx_dst(d, in, i++, 1, false)) return false;
    for (int k = 0; k < 4; ++k)
        if (!ptx_src(d, in, i++, T_B32, 4, false)) return false;
    return no_more(d, i);
}

static bool decode_vote(decoder_t *d, insn_t *in) {
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    if (!only(d, "sync all any uni ballot") || !ptx_has(d, "sync")) return ptx_refuse(d, "unknown");
    for (uint8_t k = 0; k < 4; ++k)
        if (ptx_has(d, modes[k])) in->op = k;
    in->exec = ptx_exec_vote;
    return letters(d, in, in->op == 3 ? "w:pw" : "p:pw", T_B32);
}

static bool decode_match(decoder_t *d, insn_t *in) {
    int i = 0;
    if (!only(d, "any all sync") || !ptx_has(d, "sync")) return false;
    in->op = ptx_has(d, "all");
    in->exec = ptx_exec_match;
    if (!ptx_dst(d, in, i++, 4, false)) return false;
    if (i < d->num_ops && d->ops[i].after_bar && !ptx_dst(d, in, i++, 1, false)) return false;
    return ptx_src(d, in, i, last_type(d), ptx_type_bytes(last_type(d)), false) &&
           ptx_src(d, in, i + 1, T_B32, 4, false) && no_more(d, i + 2);
}

static bool decode_redux(decoder_t *d, insn_t *in) {
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor"};
    if (!only(d, "sync add min max and or xor")) return false;
    for (uint8_t k = 0; k < 6; ++k)
        if (ptx_has(d, ops[k])) in->op = k;
    in->type = (uint8_t)last_type(d);
    in->exec = ptx_exec_redux;
    if (ptx_type_bytes(last_type(d)) != 4 || last_type(d) == T_F32) return ptx_refuse(d, "unknown type");
    return letters(d, in, "w:ww", T_B32);
}

static bool decode_activemask(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_activemask;
    return only(d, "") && letters(d, in, "w:", T_B32);
}

static bool decode_elect(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_elect;
    return only(d, "sync") && letters(d, in, "wp:w", T_B32);
}

/* cp.async.(ca|cg).shared.global [dst], [src], bytes[, (bytes to read | ignore)][, policy]; commit_group; wait_group n; wait_all */
static bool decode_cp(decoder_t *d, insn_t *in) {
    if (d->num_parts < 3 || strcmp(d->parts[1], "async") != 0) return ptx_refuse(d, "unknown instruction");
    if (strcmp(d->parts[2], "commit_group") == 0) {
        in->exec = ptx_exec_commit;
        return d->num_parts == 3 ? no_more(d, 0) : ptx_refuse(d, "unknown instruction");
    }
    if (strcmp(d->parts[2], "wait_all") == 0) {
        in->exec = ptx_exec_wait_all;
        return d->num_parts == 3 ? no_more(d, 0) : ptx_refuse(d, "unknown instruction");
    }
    if (strcmp(d->parts[2], "wait_group") == 0) {
        in->exec = ptx_exec_wait;
        return d->num_parts == 3 ? no_more(d, 1) && ptx_src(d, in, 0, T_B32, 4, true)
                                 : ptx_refuse(d, "unknown instruction");
    }
    if (!only(d, "async ca cg shared shared::cta global L2::cache_hint L2::64B L2::128B L2::256B") ||
        ptx_has(d, "ca") == ptx_has(d, "cg"))
        return ptx_refuse(d, "unknown");
    uint8_t to = SPACE_SHARED, from = SPACE_GLOBAL;
    uint64_t bytes;
    bool f32, f64;
    in->exec = ptx_exec_copy;
    if (!ptx_address(d, in, 0, &in->offset, &to) || !ptx_address(d, in, 1, &in->offset2, &from)) return false;
    if (d->num_ops < 3 || !ptx_number(&d->p->tokens[d->ops[2].first], &bytes, &f32, &f64))
        return ptx_refuse(d, "unknown size");
    if (bytes != 16 && (ptx_has(d, "cg") || (bytes != 4 && bytes != 8)))
        return ptx_refuse(d, "a size that is not allowed");
    in->vec = (uint8_t)bytes;
    int more = d->num_ops - 3 - (int)ptx_has(d, "L2::cache_hint");
    if (more == 0) return true;
    if (more != 1) return ptx_refuse(d, "a wrong number of operands");
    const token_t *t = &d->p->tokens[d->ops[3].first];
    in->op2 = t->at[0] == '%' && t->at[1] == 'p';
    return in->op2 ? ptx_src(d, in, 3, T_PRED, 1, false) : ptx_src(d, in, 3, T_U32, 4, false);
}

/* mma.sync.aligned.mMnNkK.row.col.dtype.atype.btype.ctype {d}, {a}, {b}, {c}. op: k; type: of a and b; type2: of c and d. */
static bool decode_mma(decoder_t *d, insn_t *in) {
    static const struct {
        const char *shape;
        uint8_t k, type, type2, n_d, n_a, n_b;
    } forms[] = {{"m16n8k16", 16, T_BF16, T_F32, 4, 4, 2}, {"m16n8k16", 16, T_F16, T_F32, 4, 4, 2},
                 {"m16n8k16", 16, T_F16, T_F16, 2, 4, 2},  {"m16n8k8", 8, T_BF16, T_F32, 4, 2, 1},
                 {"m16n8k8", 8, T_F16, T_F32, 4, 2, 1},    {"m16n8k8", 8, T_F16, T_F16, 2, 2, 1},
                 {"m16n8k8", 8, T_TF32, T_F32, 4, 4, 2},   {"m16n8k4", 4, T_TF32, T_F32, 4, 2, 1},
                 {"m16n8k16", 16, T_S8, T_S32, 4, 2, 1},   {"m16n8k16", 16, T_U8, T_S32, 4, 2, 1},
                 {"m16n8k32", 32, T_S8, T_S32, 4, 4, 2},   {"m16n8k32", 32, T_U8, T_S32, 4, 4, 2}};
    if (!only(d, "sync aligned row col m16n8k4 m16n8k8 m16n8k16 m16n8k32 satfinite") || d->num_parts < 10 ||
        !ptx_has(d, "row") || !ptx_has(d, "col"))
        return ptx_refuse(d, "unknown");
    type_t c = last_type(d), b = part_type(d, d->num_parts - 2), a = part_type(d, d->num_parts - 3),
           r = part_type(d, d->num_parts - 4);
    in->exec = ptx_exec_mma;
    in->sat = ptx_has(d, "satfinite");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
        bool bytes = forms[i].type2 == T_S32;
        if (!ptx_has(d, forms[i].shape) || forms[i].type != a || forms[i].type2 != c || r != c) continue;
        if (bytes ? b != T_S8 && b != T_U8 : b != a || in->sat) continue;
        in->op = forms[i].k;
        in->type = forms[i].type;
        in->op2 = (uint8_t)b; /* the type of b */
        in->type2 = forms[i].type2;
        return (ptx_dst_list(d, in, 0, 4, false) == forms[i].n_d &&
                ptx_src_list(d, in, 1, T_B32, 4, false) == forms[i].n_a &&
                ptx_src_list(d, in, 2, T_B32, 4, false) == forms[i].n_b &&
                ptx_src_list(d, in, 3, c == T_F32 ? T_F32 : T_B32, 4, false) == forms[i].n_d &&
                no_more(d, 4)) ||
               ptx_refuse(d, "a list of another length");
    }
    return ptx_refuse(d, "unknown shape or types");
}

static bool decode_ldmatrix(decoder_t *d, insn_t *in) {
    if (!only(d, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta") || last_type(d) != T_B16 ||
        !ptx_has(d, "m8n8"))
        return ptx_refuse(d, "unknown");
    in->space = space_of(d);
    in->vec = ptx_has(d, "x4") ? 4 : ptx_has(d, "x2") ? 2 : 1;
    in->op = ptx_has(d, "trans");
    in->exec = ptx_exec_ldmatrix;
    if (ptx_dst_list(d, in, 0, 4, false) != in->vec) return ptx_refuse(d, "a list of another length");
    return ptx_address(d, in, 1, &in->offset, &in->space) && no_more(d, 2);
}

static bool decode_movmatrix(decoder_t *d, insn_t *in) {
    in->exec = ptx_exec_movmatrix;
    return only(d, "sync aligned m8n8 trans") && letters(d, in, "w:w", T_B32);
}

static const struct {
    const char *name;
    bool (*decode)(decoder_t *d, insn_t *in);
} kinds[] = {{"mov", decode_mov},
             {"cvta", decode_cvta},
             {"cvt", decode_cvt},
             {"setp", decode_compare},
             {"set", decode_compare},
             {"selp", decode_selp},
             {"ld", decode_ld_st},
             {"ldu", decode_ld_st},
             {"st", decode_ld_st},
             {"atom", decode_atom},
             {"red", decode_atom},
             {"isspacep", decode_isspacep},
             {"bra", decode_bra},
             {"brx", decode_brx},
             {"ret", decode_ret},
             {"exit", decode_ret},
             {"trap", decode_trap},
             {"bar", decode_bar},
             {"barrier", decode_bar},
             {"membar", decode_nop},
             {"fence", decode_nop},
             {"griddepcontrol", decode_nop},
             {"prefetch", decode_nop},
             {"createpolicy", decode_policy},
             {"shfl", decode_shfl},
             {"vote", decode_vote},
             {"match", decode_match},
             {"redux", decode_redux},
             {"activemask", decode_activemask},
             {"elect", decode_elect},
             {"cp", decode_cp},
             {"mma", decode_mma},
             {"ldmatrix", decode_ldmatrix},
             {"movmatrix", decode_movmatrix}};

bool ptx_decode_opcode(decoder_t *d, insn_t *in) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(d->parts[0], kinds[i].name) == 0)
            return kinds[i].decode(d, in) || ptx_refuse(d, "unknown");
    return decode_pure(d, in);
}
