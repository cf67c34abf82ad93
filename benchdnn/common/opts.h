/* The options that drivers share, each a row with its default, parser and printer (opts.c). */
#ifndef BD_OPTS_H
#define BD_OPTS_H

#include "common/prb.h"

extern const bd_opt_t bd_opt_dir_b, bd_opt_dir_d; /* default FWD_B, FWD_D */
extern const bd_opt_t bd_opt_dt1, bd_opt_dt2, bd_opt_dt3, bd_opt_sdt1, bd_opt_sdt2, bd_opt_sdt_n,
    bd_opt_sdt1_always, bd_opt_ddt, bd_opt_ddt_always, bd_opt_bia_dt, bd_opt_ss_dt;
extern const bd_opt_t bd_opt_tag1, bd_opt_tag2, bd_opt_stag_any, bd_opt_stag_abx, bd_opt_stag2, bd_opt_stag_n,
    bd_opt_wtag, bd_opt_dtag_any, bd_opt_dtag_abx, bd_opt_dtag_undef, bd_opt_stat_tag;
extern const bd_opt_t bd_opt_strides3, bd_opt_strides2;
extern const bd_opt_t bd_opt_alg_eltwise, bd_opt_alg_softmax, bd_opt_alg_binary, bd_opt_alg_reduction,
    bd_opt_alg_pool, bd_opt_alg_resampling, bd_opt_alpha, bd_opt_beta, bd_opt_p, bd_opt_eps, bd_opt_axis,
    bd_opt_flags, bd_opt_batch_flags, bd_opt_inplace, bd_opt_mb, bd_opt_bia_mask, bd_opt_rt_masks,
    bd_opt_rt_mask, bd_opt_scales_sum, bd_opt_oflag, bd_opt_cross_engine, bd_opt_encoding, bd_opt_grouped;
extern const bd_opt_t bd_opt_attr_scales, bd_opt_attr_zps, bd_opt_attr_pr, bd_opt_attr_po,
    bd_opt_attr_scratch, bd_opt_attr_fpmath, bd_opt_attr_acc, bd_opt_attr_det, bd_opt_attr_dropout,
    bd_opt_attr_rounding, bd_opt_ctx_init, bd_opt_ctx_exe;

/* Attributes and contexts, in loop order and in print order. */
#define BD_ATTR_OPTS                                                                               \
    &bd_opt_attr_scales, &bd_opt_attr_zps, &bd_opt_attr_pr, &bd_opt_attr_po, &bd_opt_attr_scratch, \
        &bd_opt_attr_fpmath, &bd_opt_attr_acc, &bd_opt_attr_det, &bd_opt_attr_dropout,             \
        &bd_opt_attr_rounding, &bd_opt_ctx_init, &bd_opt_ctx_exe

#endif
