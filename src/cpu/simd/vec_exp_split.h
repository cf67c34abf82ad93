/* exp's argument in two parts, and the power of 2 that joins them, for processors without an
 * instruction that both scales by a power and masks lanes. vec_avx2.h and vec_portable.h include it
 * after the functions that it calls. */
V_INLINE vm v_exp_lanes(vf x) { return v_nan(x); } /* not looked at */
V_INLINE vf v_scale2_where(vf p, vf n, vm lanes) {
    (void)lanes;
    return v_scale2_near(p, n);
}
V_INLINE vf v_exp_split(vf x, vf *n, vm *lanes) {
    x = v_max(v_set1(V_EXP_MIN), x);
    *lanes = v_exp_lanes(x);
    *n = v_round(v_mul(x, v_set1(1.44269504f)));
    return v_fnma(*n, v_set1(0.693147182f), x);
}
/* 2^128 is inf already. */
V_INLINE vf v_exp_split_until(vf x, vf *n, vm *lanes) {
    return v_exp_split(v_min(v_set1(89.f), x), n, lanes);
}
V_INLINE vf v_scale2_until(vf p, vf n, vm lanes) { return v_scale2_where(p, n, lanes); }
