/* Data of constants in the text form of graphs: in the text, one value for all, random numbers, or in a file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/scalar.h"
#include "exec/text/text.h"

enum { SIDE_ALIGN = 64, RECIPE = 3 * DTP_TEXT_NUMBER + 16 };

/* ---- Writing ----------------------------------------------------------------------------------------- */

/* The fewest digits that give the same number again. */
static const char *float_text(char text[DTP_TEXT_NUMBER], double v, bool single) {
    int most = single ? 9 : 17;
    for (int digits = 6; digits <= most; ++digits) {
        snprintf(text, DTP_TEXT_NUMBER, "%.*g", digits, v);
        if ((single ? (double)strtof(text, NULL) : strtod(text, NULL)) == v) break;
    }
    return text;
}

void dtp_text_write_number(FILE *out, dnnl_tp_data_type_t type, const void *data, int64_t i) {
    char text[DTP_TEXT_NUMBER];
    const bool single = type != dnnl_tp_f64;
    if (dtp_is_float(type)) {
        double v = dtp_load(type, data, i);
        if (!isnan(v)) fputs(float_text(text, v, single), out);
        else if (type == dnnl_tp_f64)
            fprintf(out, "0x%016llx", (unsigned long long)((const uint64_t *)data)[i]);
        else if (type == dnnl_tp_f32) fprintf(out, "0x%08x", (unsigned)((const uint32_t *)data)[i]);
        else fprintf(out, "0x%04x", (unsigned)((const uint16_t *)data)[i]);
    } else if (type == dnnl_tp_s64) {
        fprintf(out, "%lld", (long long)((const int64_t *)data)[i]);
    } else if (type == dnnl_tp_boolean) {
        fprintf(out, "%d", ((const uint8_t *)data)[i] != 0);
    } else {
        fprintf(out, "%d", (int)dtp_load(type, data, i));
    }
}

static bool all_equal(const dtp_gvalue_t *v, int64_t n) {
    size_t size = dtp_type_size(v->info->data_type);
    const char *p = v->data;
    return n < 2 || !memcmp(p, p + size, (size_t)(n - 1) * size);
}

static void write_random(FILE *out, const dtp_gvalue_t *v, int64_t n) {
    double lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < n; ++i) {
        double x = dtp_load(v->info->data_type, v->data, i);
        if (isfinite(x) && x < lo) lo = x;
        if (isfinite(x) && x > hi) hi = x;
    }
    if (lo > hi) lo = -1, hi = 1;
    char low[DTP_TEXT_NUMBER], high[DTP_TEXT_NUMBER];
    fprintf(out, "random %u %s %s", (unsigned)dtp_hash_bytes(v->data, dtp_info_bytes(v->info)),
            float_text(low, lo, false), float_text(high, hi, false));
}

static dnnl_tp_status_t write_side(dtp_text_writer_t *w, const dtp_gvalue_t *v) {
    static const char zeros[SIDE_ALIGN];
    if (!w->side_path)
        return dtp_fail(
            dnnl_tp_invalid_arguments, DTP_GRAPH_FILE,
            "weights go to a file beside the text, which no device or pipe has; name a regular file "
            "or use DNNL_TP_GRAPH_NO_WEIGHTS");
    if (!w->side && !(w->side = fopen(w->side_path, "wbe")))
        return dtp_fail(dnnl_tp_invalid_arguments, DTP_GRAPH_FILE, "%.200s: %s", w->side_path,
                        strerror(errno));
    int64_t at = dtp_round_up(w->side_bytes, SIDE_ALIGN);
    size_t bytes = dtp_info_bytes(v->info), gap = (size_t)(at - w->side_bytes);
    if (fwrite(zeros, 1, gap, w->side) != gap || fwrite(v->data, 1, bytes, w->side) != bytes)
        return dtp_fail(dnnl_tp_runtime_error, DTP_GRAPH_FILE, "%.200s: %s", w->side_path, strerror(errno));
    w->side_bytes = at + (int64_t)bytes;
    fputs("file ", w->out);
    dtp_text_write_string(w->out, w->side_name);
    fprintf(w->out, " %lld 0x%016llx", (long long)at, (unsigned long long)dtp_hash_bytes(v->data, bytes));
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_write_data(dtp_text_writer_t *w, const dtp_gvalue_t *v) {
    int64_t n = dtp_info_nelems(v->info);
    if (v->constant->recipe) {
        fputs(v->constant->recipe, w->out);
    } else if (n > 1 && all_equal(v, n)) {
        fputs("fill ", w->out);
        dtp_text_write_number(w->out, v->info->data_type, v->data, 0);
    } else if (n <= DTP_TEXT_INLINE || (w->no_weights && !dtp_is_float(v->info->data_type))) {
        fputc('{', w->out);
        for (int64_t i = 0; i < n; ++i) {
            if (i) fputs(", ", w->out);
            dtp_text_write_number(w->out, v->info->data_type, v->data, i);
        }
        fputc('}', w->out);
    } else if (w->no_weights) {
        write_random(w->out, v, n);
    } else {
        return write_side(w, v);
    }
    return dnnl_tp_success;
}

/* ---- Reading ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t read_fill(dtp_text_reader_t *r, const dnnl_tp_tensor_info_t *info, void *data,
                                  int64_t n) {
    char one[8] __attribute__((aligned(8)));
    DTP_TRY(dtp_text_element(r, info->data_type, one, 0));
    size_t size = dtp_type_size(info->data_type);
    for (int64_t i = 0; i < n; ++i) memcpy((char *)data + (size_t)i * size, one, size);
    return dnnl_tp_success;
}

/* Element i depends on the seed and i alone (splitmix64). */
static uint64_t mix(uint64_t seed, int64_t i) {
    uint64_t z = (seed << 32 | seed) + ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static dnnl_tp_status_t read_random(dtp_text_reader_t *r, const dnnl_tp_tensor_info_t *info, void *data,
                                    int64_t n, const char **recipe) {
    const char *at = r->token.at;
    int64_t seed;
    double lo, hi;
    DTP_TRY(dtp_text_integer(r, &seed));
    DTP_TRY(dtp_text_float(r, false, &lo));
    DTP_TRY(dtp_text_float(r, false, &hi));
    if (seed < 0 || seed > UINT32_MAX || !(lo <= hi) || isinf(lo) || isinf(hi) || isinf(hi - lo))
        return dtp_text_fail(r, at, "random needs a seed from 0 to 4294967295 and a finite range");
    const int64_t whole = (int64_t)1 << 53; /* numbers up to it are exact */
    if (!dtp_is_float(info->data_type)) {
        int64_t least, most;
        dtp_text_range(info->data_type, &least, &most);
        least = dtp_max64(least, -whole);
        most = dtp_min64(most, whole);
        if (lo != floor(lo) || hi != floor(hi) || lo < (double)least || hi > (double)most)
            return dtp_text_fail(r, at, "the range is not one of integers of type %s",
                                 dnnl_tp_dt2str(info->data_type));
    }
    for (int64_t i = 0; i < n; ++i) {
        double unit = (double)(mix((uint64_t)seed, i) >> 11) / (double)whole;
        if (dtp_is_float(info->data_type)) {
            dtp_store(info->data_type, data, i, lo + unit * (hi - lo));
        } else {
            int64_t v = (int64_t)dtp_min64((int64_t)(lo + floor(unit * (hi - lo + 1))), (int64_t)hi);
            if (info->data_type == dnnl_tp_boolean) ((uint8_t *)data)[i] = (uint8_t)v;
            else if (info->data_type == dnnl_tp_s64) ((int64_t *)data)[i] = v;
            else dtp_store(info->data_type, data, i, (double)v);
        }
    }
    /* Written again as it stands. */
    char low[DTP_TEXT_NUMBER], high[DTP_TEXT_NUMBER], *text = dtp_arena_alloc(&r->arena, RECIPE);
    if (!text) return dnnl_tp_out_of_memory;
    snprintf(text, RECIPE, "random %lld %s %s", (long long)seed, float_text(low, lo, false),
             float_text(high, hi, false));
    *recipe = text;
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_side(dtp_text_reader_t *r, const dnnl_tp_tensor_info_t *info, void *data) {
    const char *at = r->token.at, *name;
    if (r->token.kind != DTP_TOKEN_STRING) return dtp_text_fail(r, at, "the name of a file is needed");
    DTP_TRY(dtp_text_string(r, &name));
    int64_t offset;
    DTP_TRY(dtp_text_integer(r, &offset));
    uint64_t hash;
    DTP_TRY(dtp_text_bits(r, sizeof hash, &hash));
    /* Only files beside this one. */
    size_t n = strlen(name);
    if (n == 0 || n >= DTP_TEXT_FILE_NAME || *name == '.' || strchr(name, '/') || offset < 0)
        return dtp_text_fail(r, at, "data lies in a file beside this one, at an offset from 0");
    if (!r->path) return dtp_text_fail(r, at, "a text in memory has no file beside it");
    const char *slash = strrchr(r->path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - r->path) : 0;
    char *path = dtp_arena_alloc(&r->arena, folder + n + 1);
    if (!path) return dnnl_tp_out_of_memory;
    memcpy(path, r->path, folder);
    memcpy(path + folder, name, n + 1);
    size_t bytes = dtp_info_bytes(info), got = 0;
    FILE *f = fopen(path, "rbe");
    if (!f) return dtp_text_fail(r, at, "%.200s: %s", path, strerror(errno));
    if (!fseeko(f, (off_t)offset, SEEK_SET)) got = fread(data, 1, bytes, f);
    (void)fclose(f);
    if (got != bytes)
        return dtp_text_fail(r, at, "%.200s ends before %lld + %zu bytes", path, (long long)offset, bytes);
    const uint64_t have = dtp_hash_bytes(data, bytes);
    if (have != hash)
        return dtp_text_fail(r, at, "%.200s holds other data: hash 0x%016llx", path,
                             (unsigned long long)have);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_read_data(dtp_text_reader_t *r, const dnnl_tp_tensor_info_t *info, void *data,
                                    const char **recipe) {
    int64_t n = dtp_info_nelems(info);
    bool fill, random, file;
    *recipe = NULL;
    DTP_TRY(dtp_text_accept_word(r, "fill", &fill));
    if (fill) return read_fill(r, info, data, n);
    DTP_TRY(dtp_text_accept_word(r, "random", &random));
    if (random) return read_random(r, info, data, n, recipe);
    DTP_TRY(dtp_text_accept_word(r, "file", &file));
    if (file) return read_side(r, info, data);
    DTP_TRY(dtp_text_expect(r, '{'));
    for (int64_t i = 0; i < n; ++i) {
        if (i) DTP_TRY(dtp_text_expect(r, ','));
        DTP_TRY(dtp_text_element(r, info->data_type, data, i));
    }
    return dtp_text_expect(r, '}');
}
