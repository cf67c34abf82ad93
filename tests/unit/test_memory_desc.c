/* Memory descriptors: tags, strides, views, blobs, sizes, refusals. Offsets are checked against an
 * independent evaluation of the layout text. */
#include "support/check.h"
#include "support/layout.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/layout/format_tag.h"

static void refuses(dnnl_tp_status_t status, dtp_reason_t reason) {
    assert_int_equal(status, dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), reason);
    assert_non_null(strstr(dnnl_tp_last_error(), dtp_reason_text(reason)));
}

/* Position -> offset straight from the text: outer letters, then inner blocks, by counting elements. */
static int64_t offset_by_text(const char *text, int ndims, const int64_t *dims, const int64_t *pos) {
    int64_t block[12], outer[12], in_pos[12];
    for (int d = 0; d < ndims; ++d) block[d] = 1;
    const char *inner = text;
    while (isalpha((unsigned char)*inner)) ++inner;
    for (const char *p = inner; *p;) {
        int64_t b = strtol(p, (char **)&p, 10);
        block[tolower((unsigned char)*p++) - 'a'] *= b;
    }
    for (int d = 0; d < ndims; ++d)
        outer[d] = (dims[d] + block[d] - 1) / block[d], in_pos[d] = pos[d] % block[d];
    int64_t offset = 0;
    for (const char *p = text; p < inner; ++p) {
        int d = tolower((unsigned char)*p) - 'a';
        offset = offset * outer[d] + pos[d] / block[d];
    }
    int64_t left[12];
    memcpy(left, block, sizeof left);
    for (const char *p = inner; *p;) {
        int64_t b = strtol(p, (char **)&p, 10);
        int d = tolower((unsigned char)*p++) - 'a';
        left[d] /= b;
        offset = offset * b + in_pos[d] / left[d] % b;
    }
    return offset;
}

static void every_tag_addresses_as_its_name_says(void **state) {
    (void)state;
    int tested = 0;
    for (int tag = dnnl_tp_format_tag_any + 1; tag < dnnl_tp_format_tag_last; ++tag) {
        const char *name = dtp_tag_name((dnnl_tp_format_tag_t)tag);
        int ndims = 0;
        while (isalpha((unsigned char)name[ndims])) ++ndims;
        int64_t dims[12];
        for (int d = 0; d < ndims; ++d) dims[d] = ndims > 6 ? 2 : 2 + (d * 7 + 3) % 5;
        if (ndims <= 4) dims[0] = 17, dims[ndims - 1] = 33;
        dnnl_tp_memory_desc_t md;
        CHECK_OK(
            dnnl_tp_memory_desc_create_with_tag(&md, ndims, dims, dnnl_tp_f32, (dnnl_tp_format_tag_t)tag));
        test_rng_t rng = test_rng((uint64_t)tag);
        for (int k = 0; k < 20; ++k) {
            int64_t pos[12];
            for (int d = 0; d < ndims; ++d) pos[d] = (int64_t)(test_rand(&rng) % (uint64_t)dims[d]);
            assert_int_equal(dtp_md_offset(md, pos), offset_by_text(name, ndims, dims, pos));
        }
        assert_int_equal(dnnl_tp_memory_desc_get_size(md), 4 * (size_t)dtp_md_nelems_padded(md));
        assert_true(dtp_md_is_dense(md));
        assert_true(md_matches(md, name));
        CHECK_OK(dnnl_tp_memory_desc_destroy(md));
        ++tested;
    }
    assert_int_equal(tested, dnnl_tp_format_tag_last - 2);
}

static void creation_refuses_by_reason(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t md = (dnnl_tp_memory_desc_t)1;
    dnnl_tp_dims_t dims = {2, 3}, strides = {3, 1};
    refuses(dnnl_tp_memory_desc_create_with_tag(NULL, 2, dims, dnnl_tp_f32, dnnl_tp_ab), DTP_NULL_ARG);
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_f32, dnnl_tp_abc), DTP_BAD_TAG);
    assert_null(md);
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_f32, (dnnl_tp_format_tag_t)99999),
            DTP_BAD_TAG);
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, 13, dims, dnnl_tp_f32, dnnl_tp_ab), DTP_BAD_NDIMS);
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, -1, dims, dnnl_tp_f32, dnnl_tp_ab), DTP_BAD_NDIMS);
    refuses(
        dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, (dnnl_tp_data_type_t)(dnnl_tp_s64 + 1), dnnl_tp_ab),
        DTP_BAD_DATA_TYPE);
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_data_type_undef, dnnl_tp_ab),
            DTP_BAD_DATA_TYPE);
    dnnl_tp_dims_t negative = {2, -3}, huge = {INT64_MAX / 4, 8}, runtime = {DNNL_TP_RUNTIME_DIM_VAL, 3};
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, 2, negative, dnnl_tp_f32, dnnl_tp_ab), DTP_BAD_DIMS);
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, 2, huge, dnnl_tp_f32, dnnl_tp_ab), DTP_OVERFLOW);
    refuses(dnnl_tp_memory_desc_create_with_tag(&md, 2, runtime, dnnl_tp_f32, dnnl_tp_format_tag_any),
            DTP_RUNTIME_NOT_ALLOWED);
    dnnl_tp_dims_t overlap = {2, 1}, minus = {-3, 1}, far = {INT64_MAX / 2, 1};
    refuses(dnnl_tp_memory_desc_create_with_strides(&md, 2, dims, dnnl_tp_f32, overlap), DTP_BAD_STRIDES);
    refuses(dnnl_tp_memory_desc_create_with_strides(&md, 2, dims, dnnl_tp_f32, minus), DTP_BAD_STRIDES);
    refuses(dnnl_tp_memory_desc_create_with_strides(&md, 2, dims, dnnl_tp_f32, far), DTP_OVERFLOW);
    CHECK_OK(dnnl_tp_memory_desc_create_with_strides(&md, 2, dims, dnnl_tp_f32, strides));
    int n;
    CHECK_STATUS(dnnl_tp_memory_desc_query(md, dnnl_tp_query_p_f32, &n), dnnl_tp_unimplemented);
    refuses(dnnl_tp_memory_desc_query_v2(md, dnnl_tp_query_ndims_s32, 1, &n), DTP_BAD_INDEX);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    CHECK_OK(dnnl_tp_memory_desc_destroy(NULL));
}

static void sizes_follow_strides_and_runtime_dims(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t md;
    dnnl_tp_dims_t dims = {2, 3, 4, 5}, strides = {0, 0, 0, 1};
    CHECK_OK(dnnl_tp_memory_desc_create_with_strides(&md, 4, dims, dnnl_tp_f32, strides));
    assert_int_equal(dnnl_tp_memory_desc_get_size(md), 20);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    dims[1] = DNNL_TP_RUNTIME_DIM_VAL;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 4, dims, dnnl_tp_f32, dnnl_tp_abcd));
    assert_true(dnnl_tp_memory_desc_get_size(md) == DNNL_TP_RUNTIME_SIZE_VAL);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    dims[1] = 0;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 4, dims, dnnl_tp_f32, dnnl_tp_abcd));
    assert_int_equal(dnnl_tp_memory_desc_get_size(md), 0);
    assert_int_equal(dnnl_tp_memory_desc_get_size(NULL), 0);
    assert_int_equal(dnnl_tp_memory_desc_equal(NULL, NULL), 1);
    assert_int_equal(dnnl_tp_memory_desc_equal(md, NULL), 0);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    assert_int_equal(dnnl_tp_data_type_size(dnnl_tp_data_type_undef), 0);
}

static void views_address_the_parent(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t parent, sub, shaped, turned;
    dnnl_tp_dims_t dims = {4, 48, 6}, window = {2, 16, 6}, offsets = {1, 16, 0};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&parent, 3, dims, dnnl_tp_f32, dnnl_tp_aBc16b));
    CHECK_OK(dnnl_tp_memory_desc_create_submemory(&sub, parent, window, offsets));
    for (int64_t i = 0; i < 2 * 16 * 6; ++i) {
        int64_t p[3] = {i / 96, i / 6 % 16, i % 6}, q[3] = {p[0] + 1, p[1] + 16, p[2]};
        assert_int_equal(dtp_md_offset(sub, p), dtp_md_offset(parent, q));
    }
    CHECK_OK(dnnl_tp_memory_desc_destroy(sub));
    offsets[1] = 8;
    CHECK_STATUS(dnnl_tp_memory_desc_create_submemory(&sub, parent, window, offsets), dnnl_tp_unimplemented);
    assert_null(sub);
    offsets[1] = 40;
    refuses(dnnl_tp_memory_desc_create_submemory(&sub, parent, window, offsets), DTP_BAD_DIMS);
    /* A blocked dim keeps its block when others split. */
    dnnl_tp_dims_t split = {2, 2, 48, 3, 2};
    CHECK_OK(dnnl_tp_memory_desc_reshape(&shaped, parent, 5, split));
    for (int64_t i = 0; i < 4 * 48 * 6; ++i)
        assert_int_equal(dtp_md_offset_linear(shaped, i), dtp_md_offset_linear(parent, i));
    CHECK_OK(dnnl_tp_memory_desc_destroy(shaped));
    dnnl_tp_dims_t merged = {4, 288};
    refuses(dnnl_tp_memory_desc_reshape(&shaped, parent, 2, merged), DTP_DIMS_MISMATCH);
    int turn[] = {2, 0, 1}, bad[] = {0, 0, 1};
    CHECK_OK(dnnl_tp_memory_desc_permute_axes(&turned, parent, turn));
    for (int64_t i = 0; i < 4 * 48 * 6; ++i) {
        int64_t p[3] = {i / 288, i / 6 % 48, i % 6}, q[3] = {p[1], p[2], p[0]};
        assert_int_equal(dtp_md_offset(turned, q), dtp_md_offset(parent, p));
    }
    refuses(dnnl_tp_memory_desc_permute_axes(&shaped, parent, bad), DTP_BAD_PARAM);
    dnnl_tp_memory_desc_t open;
    dnnl_tp_dims_t unknown = {DNNL_TP_RUNTIME_DIM_VAL, 48, 6};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&open, 3, unknown, dnnl_tp_f32, dnnl_tp_abc));
    refuses(dnnl_tp_memory_desc_permute_axes(&shaped, open, turn), DTP_RUNTIME_NOT_ALLOWED);
    CHECK_OK(dnnl_tp_memory_desc_destroy(open));
    CHECK_OK(dnnl_tp_memory_desc_destroy(turned));
    CHECK_OK(dnnl_tp_memory_desc_destroy(parent));
}

static void plain_reshape_keeps_linear_order(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {{2, 3, 4, 5},   {6, 20, 1, 1}, {1, 120, 1, 1},
                                        {120, 1, 1, 1}, {5, 4, 3, 2},  {1, 1, 2, 60}};
    for (size_t a = 0; a < 6; ++a)
        for (size_t b = 0; b < 6; ++b) {
            dnnl_tp_memory_desc_t from, to;
            CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&from, 4, shapes[a], dnnl_tp_u8, dnnl_tp_abcd));
            CHECK_OK(dnnl_tp_memory_desc_reshape(&to, from, 4, shapes[b]));
            for (int64_t i = 0; i < 120; ++i) assert_int_equal(dtp_md_offset_linear(to, i), i);
            CHECK_OK(dnnl_tp_memory_desc_destroy(from));
            CHECK_OK(dnnl_tp_memory_desc_destroy(to));
        }
}

static void blobs_round_trip_and_damage_is_refused(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t md, back;
    dnnl_tp_dims_t dims = {3, 35, 7};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 3, dims, dnnl_tp_bf16, dnnl_tp_aBc16b));
    size_t size = 0;
    CHECK_OK(dnnl_tp_memory_desc_get_blob(NULL, &size, md));
    uint8_t *blob = malloc(size);
    CHECK_OK(dnnl_tp_memory_desc_get_blob(blob, &size, md));
    CHECK_OK(dnnl_tp_memory_desc_create_with_blob(&back, blob));
    assert_int_equal(dnnl_tp_memory_desc_equal(md, back), 1);
    CHECK_OK(dnnl_tp_memory_desc_destroy(back));
    for (size_t i = 0; i < size; ++i) {
        blob[i] ^= 0x40;
        refuses(dnnl_tp_memory_desc_create_with_blob(&back, blob), DTP_BAD_BLOB);
        assert_null(back);
        blob[i] ^= 0x40;
    }
    free(blob);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_tag_addresses_as_its_name_says),
                                       cmocka_unit_test(creation_refuses_by_reason),
                                       cmocka_unit_test(sizes_follow_strides_and_runtime_dims),
                                       cmocka_unit_test(views_address_the_parent),
                                       cmocka_unit_test(plain_reshape_keeps_linear_order),
                                       cmocka_unit_test(blobs_round_trip_and_damage_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
