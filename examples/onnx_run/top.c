/* See top.h. */
#include "top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int labels_read(labels_t *l, const char *path, se_error_t *error) {
    enum { MOST = 1 << 24 };
    se_file_t file;
    *l = (labels_t){.n = 0};
    if (se_file_open(&file, path, MOST, error)) return -1;
    l->text = malloc(file.size + 1);
    l->line = malloc((file.size + 1) * sizeof *l->line); /* no line is shorter than its end */
    if (l->text && l->line) {
        memcpy(l->text, file.data, file.size);
        l->text[file.size] = 0;
        for (size_t i = 0, begin = 0; i <= file.size; ++i) {
            const int control = (unsigned char)l->text[i] < ' ';
            if (i < file.size && l->text[i] != '\n') {
                if (control) l->text[i] = l->text[i] == '\r' && l->text[i + 1] == '\n' ? 0 : ' ';
                continue;
            }
            l->text[i] = 0;
            if (i < file.size || i > begin) l->line[l->n++] = l->text + begin;
            begin = i + 1;
        }
    }
    se_file_close(&file);
    if (l->text && l->line) return 0;
    labels_free(l);
    return se_fail_memory(error);
}

void labels_free(labels_t *l) {
    free(l->text);
    free((void *)l->line);
    *l = (labels_t){.n = 0};
}

void top_print(FILE *f, const array_t *a, int k, const labels_t *labels) {
    enum { ROWS = 8 };
    const size_t all = count_of(&a->info),
                 width = a->info.ndims ? (size_t)a->info.dims[a->info.ndims - 1] : 1;
    for (size_t row = 0; row < ROWS && row * width < all; ++row) {
        const size_t begin = row * width;
        double last = 0;
        size_t at = 0;
        for (int i = 0; i < k && (size_t)i < width;
             ++i) { /* the next smaller one, of equals the next place */
            size_t best = width;
            double value = 0;
            for (size_t c = 0; c < width; ++c) {
                const double v = element(a->data, a->info.data_type, begin + c);
                if (v != v || (i && (v > last || (v == last && c <= at)))) continue;
                if (best == width || v > value) best = c, value = v;
            }
            if (best == width) break; /* the others are NaN */
            fprintf(f, "  row %zu: %zu. %g%s%s\n", row, best, value, labels->n ? " " : "",
                    best < labels->n ? labels->line[best] : "");
            last = value;
            at = best;
        }
    }
    if (width && all / width > ROWS) fprintf(f, "  ... and %zu rows more\n", all / width - ROWS);
}
