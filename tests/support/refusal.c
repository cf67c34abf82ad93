#include "support/refusal.h"

#include <string.h>

dnnl_tp_engine_t engine;

int refusal_setup(void **state) {
    (void)state;
    return dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
}

int refusal_teardown(void **state) {
    (void)state;
    return dnnl_tp_engine_destroy(engine);
}

dtp_md_t refusal_md(int nd, const int64_t *dims, dnnl_tp_data_type_t dt, dnnl_tp_format_tag_t tag) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_tag(&md, nd, dims, dt, tag));
    return md;
}

dtp_md_t refusal_plain(int nd, const int64_t *dims, dnnl_tp_data_type_t dt) {
    dtp_md_t md = refusal_md(nd, dims, dt, dnnl_tp_format_tag_any);
    dtp_md_make_plain(&md);
    return md;
}

dnnl_tp_primitive_attr_t refusal_sum(void) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_sum(po, 1.f, 0, dnnl_tp_data_type_undef));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    return attr;
}

dnnl_tp_status_t refusal_done(dnnl_tp_status_t status, dnnl_tp_primitive_desc_t pd) {
    if (status) assert_null(pd);
    else CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return status;
}

void refusal_check(dnnl_tp_status_t got, dnnl_tp_status_t want, dtp_reason_t reason, const char *says,
                   const char *expr, const char *file, int line) {
    check_status_(got, want, expr, file, line);
    if (dtp_last_reason() != reason || !strstr(dnnl_tp_last_error(), says))
        fail_msg("%s:%d: %s: '%s' does not say '%s', or not for reason %d", file, line, expr,
                 dnnl_tp_last_error(), says, (int)reason);
}
