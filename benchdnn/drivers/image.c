/* Descriptors of images: see image.h. */
#include "drivers/image.h"

#include <ctype.h>

static const char dim_letter[] = "dhw";

static float *number_of(const bd_prb_t *p, const bd_img_number_t *n) {
    return (float *)(void *)((char *)(uintptr_t)p + n->offset);
}

/* The key in front of a digit. */
static bool key_is(const char *s, const char *key) {
    const size_t n = strlen(key);
    return !strncmp(s, key, n) && isdigit((unsigned char)s[n]);
}

static int parse_count(const char *s, char **end, int64_t *to) {
    const long long x = strtoll(s, end, 10);
    if (x < 0 || x > INT32_MAX) return 1;
    *to = x;
    return 0;
}

int bd_parse_image(bd_prb_t *p, const char *s, const char *const *counts, const bd_img_number_t *numbers) {
    char text[1024];
    if (bd_cut_label(p, s, text, sizeof text)) return 1;
    int64_t given[3] = {-1, -1, -1};
    for (int i = 0; counts[i]; ++i) p->vd[0][i] = -1;
    for (const bd_img_number_t *n = numbers; n->name; ++n) *number_of(p, n) = n->usual;
    for (char *c = text; *c;) {
        if (*c == '_') {
            ++c;
            continue;
        }
        int i = 0;
        while (counts[i] && !key_is(c, counts[i])) ++i;
        const char *dim = *c == 'i' && c[1] ? strchr(dim_letter, c[1]) : NULL;
        const bd_img_number_t *n = numbers;
        while (n->name && !key_is(c, n->name)) ++n;
        if (counts[i]) {
            if (parse_count(c + strlen(counts[i]), &c, &p->vd[0][i])) return 1;
        } else if (dim && isdigit((unsigned char)c[2])) {
            if (parse_count(c + 2, &c, &given[dim - dim_letter])) return 1;
        } else if (n->name) {
            *number_of(p, n) = strtof(c + strlen(n->name), &c);
            if (!isfinite(*number_of(p, n))) return 1;
        } else {
            return 1;
        }
    }
    int first = 0;
    while (first < 3 && given[first] < 0) ++first;
    p->n_vd = 2;
    p->vd_nd[0] = 3 - first;
    for (int d = first; d < 3; ++d) {
        if (given[d] < 0) given[d] = given[d - 1];
        p->vd[BD_IMG_SPACE][d - first] = given[d];
    }
    if (p->vd[0][BD_IMG_MB] < 0) p->vd[0][BD_IMG_MB] = 2;
    return p->vd[0][BD_IMG_IC] < 0;
}

void bd_desc_image(const bd_prb_t *p, char *o, size_t size, const char *const *counts,
                   const bd_img_number_t *numbers) {
    const int nd = p->vd_nd[0];
    for (int i = 0; counts[i]; ++i) {
        const int64_t v = i == BD_IMG_MB && p->mb ? p->mb : p->vd[0][i];
        if (v >= 0) bd_cat(o, size, "%s%lld", counts[i], (long long)v);
    }
    bool same = true; /* all dimensions, so that the outermost tells all */
    for (int d = 1; d < nd; ++d) same &= p->vd[BD_IMG_SPACE][d] == p->vd[BD_IMG_SPACE][0];
    for (int d = 0; d < (same && !bd.canonical && nd ? 1 : nd); ++d)
        bd_cat(o, size, "%si%c%lld", d ? "" : "_", dim_letter[3 - nd + d], (long long)p->vd[BD_IMG_SPACE][d]);
    for (const bd_img_number_t *n = numbers; n->name; ++n) {
        if (*number_of(p, n) == n->usual && !bd.canonical) continue;
        bd_cat(o, size, "_%s", n->name);
        bd_print_float(o, size, *number_of(p, n));
    }
    bd_desc_label(p, o, size, "_");
}

int bd_image_dims(const bd_prb_t *p, int64_t d[BD_MAX_NDIMS]) {
    d[0] = p->mb ? p->mb : p->vd[0][BD_IMG_MB];
    d[1] = p->vd[0][BD_IMG_IC];
    for (int i = 0; i < p->vd_nd[0]; ++i) d[2 + i] = p->vd[BD_IMG_SPACE][i];
    return 2 + p->vd_nd[0];
}
