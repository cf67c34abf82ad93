/* Descriptors of problems whose windows slide over space: "mb16ic64_ih112oh56_kh3sh2ph1_n"label"". */
#include "drivers/window.h"

#include <ctype.h>

static const char dim_letter[] = "dhw";
/* By form, the letters of the rows from BD_WIN_IN on: the window's input of a deconvolution is dst. */
static const char *const part_letters[] = {"iokspd", "oikspd", "io"};

/* Output (transposed: input), then padding: what is missing follows from the rest. */
static int complete(bd_prb_t *p, int d, bool transposed) {
    int64_t *i = &bd_window(p, BD_WIN_IN)[d], k = bd_window(p, BD_WIN_KERNEL)[d],
            *o = &bd_window(p, BD_WIN_OUT)[d], *s = &bd_window(p, BD_WIN_STRIDE)[d],
            *pad = &bd_window(p, BD_WIN_PAD)[d], *dil = &bd_window(p, BD_WIN_DILATION)[d];
    if ((transposed ? *o : *i) < 0 || k < 1) return 1;
    if (*s < 0) *s = 1;
    if (*dil < 0) *dil = 0;
    if (*s == 0) return 1;
    const int64_t range = (k - 1) * (*dil + 1) + 1;
    if (*i < 0) {
        if (*pad < 0) *pad = 0;
        *i = (*o - 1) * *s + range - 2 * *pad;
        if (*i < 0) return 1;
    }
    if (*o < 0) {
        if (*pad < 0) *pad = 0;
        const int64_t left = *i - range + 2 * *pad;
        if (left < 0) return 1;
        *o = left / *s + 1;
    }
    if (*pad < 0) *pad = ((*o - 1) * *s - *i + range) / 2;
    if (*pad < 0) *pad = 0;
    bd_window(p, BD_WIN_PAD_R)[d] = (*o - 1) * *s - *i + range - *pad;
    return 0;
}

int bd_parse_window(bd_prb_t *p, const char *s, const char *const *counts, bd_window_form_t form) {
    const char *const part_letter = part_letters[form];
    char text[1024];
    if (bd_cut_label(p, s, text, sizeof text)) return 1;
    for (int r = 0; r < BD_WIN_ROWS; ++r)
        for (int d = 0; d < BD_MAX_NDIMS; ++d) p->vd[r][d] = -1;
    int64_t given[BD_WIN_ROWS][3];
    memset(given, -1, sizeof given);
    for (const char *c = text; *c;) {
        int64_t *to = NULL;
        size_t used = 0;
        if (*c == '_') {
            ++c;
            continue;
        }
        for (int i = 0; counts[i] && !to; ++i)
            if (!strncmp(c, counts[i], strlen(counts[i])) && isdigit((unsigned char)c[strlen(counts[i])]))
                to = &p->vd[0][i], used = strlen(counts[i]);
        const char *part = strchr(part_letter, *c), *dim = part && c[1] ? strchr(dim_letter, c[1]) : NULL;
        if (!to && dim) to = &given[1 + (part - part_letter)][dim - dim_letter], used = 2;
        if (!to || !isdigit((unsigned char)c[used])) return 1;
        char *end;
        const long long x = strtoll(c + used, &end, 10);
        if (x < 0 || x > INT32_MAX) return 1;
        *to = x;
        c = end;
    }
    const int64_t *in = given[form == BD_WINDOW_TRANSPOSED ? BD_WIN_OUT : BD_WIN_IN];
    const int first = in[0] >= 0 ? 0 : in[1] >= 0 ? 1 : in[2] >= 0 ? 2 : 3, nd = 3 - first;
    if (!nd) return 1;
    for (int r = 1; r < BD_WIN_ROWS; ++r)
        for (int d = first; d < 3; ++d) {
            /* Missing sizes are copied from the outer dimension. */
            if (given[r][d] < 0 && d > first) given[r][d] = given[r][d - 1];
            bd_window(p, r)[d - first] = given[r][d];
        }
    p->vd_nd[0] = nd;
    p->n_vd = BD_WIN_ROWS;
    for (int d = 0; d < nd; ++d)
        if (form == BD_WINDOW_SIZES ? p->vd[BD_WIN_IN][d] < 0 || p->vd[BD_WIN_OUT][d] < 0
                                    : complete(p, d, form == BD_WINDOW_TRANSPOSED))
            return 1;
    return 0;
}

void bd_desc_window(const bd_prb_t *p, char *o, size_t n, const char *const *counts, bd_window_form_t form) {
    const char *const part_letter = part_letters[form];
    const int last = (int)strlen(part_letter);
    const int nd = p->vd_nd[0];
    for (int i = 0; counts[i]; ++i) {
        const int64_t v = i == 0 && p->mb ? p->mb : p->vd[0][i];
        if (v >= 0) bd_cat(o, n, "%s%lld", counts[i], (long long)v);
    }
    bool same = true; /* all dimensions, so that the outermost tells all */
    for (int r = 1; r < BD_WIN_ROWS; ++r)
        for (int d = 1; d < nd; ++d) same &= p->vd[r][d] == p->vd[r][0];
    for (int d = 0; d < (same && !bd.canonical ? 1 : nd); ++d) {
        bd_cat(o, n, "_");
        for (int r = BD_WIN_IN; r <= last; ++r) {
            const int64_t v = p->vd[r][d], usual = r == BD_WIN_STRIDE ? 1 : r == BD_WIN_DILATION ? 0 : -1;
            if (same && !bd.canonical && v == usual) continue;
            bd_cat(o, n, "%c%c%lld", part_letter[r - 1], dim_letter[3 - nd + d], (long long)v);
        }
    }
    bd_desc_label(p, o, n, "_");
}

void bd_window_dims(const bd_prb_t *p, int row, int64_t mb, int64_t c, int64_t d[BD_MAX_NDIMS]) {
    d[0] = mb;
    d[1] = c;
    for (int i = 0; i < p->vd_nd[0]; ++i) d[2 + i] = p->vd[row][i];
}

bool bd_window_next(const bd_prb_t *p, const int64_t *pos, int64_t *tap, int64_t *at) {
    const int nd = p->vd_nd[0];
    for (;;) {
        /* tap[0] < 0: before the first. */
        int d = nd - 1;
        if (tap[0] < 0) memset(tap, 0, (size_t)nd * sizeof *tap);
        else {
            while (d >= 0 && ++tap[d] == p->vd[BD_WIN_KERNEL][d]) tap[d--] = 0;
            if (d < 0) return false;
        }
        bool inside = true;
        for (d = 0; d < nd; ++d) {
            at[d] = pos[d] * p->vd[BD_WIN_STRIDE][d] - p->vd[BD_WIN_PAD][d] +
                    tap[d] * (p->vd[BD_WIN_DILATION][d] + 1);
            inside &= at[d] >= 0 && at[d] < p->vd[BD_WIN_IN][d];
        }
        if (inside) return true;
    }
}
