/* exp's argument in two parts, and the power of 2 that joins them, for processors without an
 * instruction that both scales by a power and masks lanes. vec_avx2.h and vec_portable.h include it
 * after the functions that it calls. */
V_INLINE vm v_exp_lanes(vf x) { return v_nan(x); } /* not looked at */
V_INLINE vf v_scale2_where(vf p, vf n, vm lanes) {
    (void)lanes;
    return v_scale2_near(p, n);
}
V_INLINE vf v_exp_split(vf x, vf *n, vm *lanes) {
    const vf power = v_set1(V_POWER);
    x = v_max(v_set1(V_EXP_MIN), x);
    *lanes = v_exp_lanes(x);
    *n = v_fma(x, v_set1(1.44269504f), power);
    return v_fnma(v_sub(*n, power), v_set1(0.693147182f), x);
}
V_INLINE vf v_exp_join(vf p, vf n, vm lanes) {
    (void)lanes;
    return v_mul(p, v_power2(n));
}
/* Two factors, because 2^n itself may not be a normal number. */
V_INLINE vf v_scale2_down(vf z, vf n) {
    const vf half = v_round(v_mul(n, v_set1(.5f)));
    return v_scale2_near(v_scale2_near(z, half), v_sub(n, half));
}
