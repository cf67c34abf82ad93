/* See edits.h. */
#include "gpu/traffic/edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, LONGER = 4 };

/* The text with each line as `edit` has it; free it. */
static char *each_line(const char *text, void (*edit)(const char *line, char *to)) {
    char line[LINE], *edited = malloc(strlen(text) * LONGER + 1), *to = edited;
    if (!edited) abort();
    while (*text) {
        const size_t n = strcspn(text, "\n") + 1;
        if (n < LINE) {
            snprintf(line, sizeof line, "%.*s", (int)n, text);
            edit(line, to);
        } else {
            memcpy(to, text, n);
            to[n] = '\0';
        }
        to += strlen(to);
        text += strlen(text) < n ? strlen(text) : n;
    }
    *to = '\0';
    return edited;
}

/* Four loads of a word each in the place of one of 16 bytes. */
static void narrow_line(const char *line, char *to) {
    char type[8], r[4][32], base[32];
    int offset = 0;
    const char *at = strstr(line, "ld.global.v4.");
    const bool plain =
        at && sscanf(at, "ld.global.v4.%7[a-z0-9] {%31[^,], %31[^,], %31[^,], %31[^}]}, [%31[^]+]%d", type,
                     r[0], r[1], r[2], r[3], base, &offset) >= 6;
    to += sprintf(to, "%.*s", plain ? (int)(at - line) : LINE, line);
    for (int i = 0; plain && i < 4; ++i)
        to +=
            sprintf(to, "ld.global.%s %s, [%s+%d];%c", type, r[i], base, offset + 4 * i, i < 3 ? ' ' : '\n');
}
char *edit_narrow(const char *text) { return each_line(text, narrow_line); }

/* The threads of a block of 256 change places: bits of their numbers are reversed. */
static void scatter_line(const char *line, char *to) {
    char r[32];
    const char *at = strstr(line, "mov.u32");
    to += sprintf(to, "%s", line);
    if (at && sscanf(at, "mov.u32 %31[^,], %%tid.x", r) == 1 && strstr(at, "%tid.x"))
        sprintf(to, "brev.b32 %s, %s; shr.u32 %s, %s, 24;\n", r, r, r, r);
}
char *edit_scatter(const char *text) { return each_line(text, scatter_line); }

/* Lines of a tile of 64 words and one more, 260 bytes, lose the last one; offsets are up to four of its groups of four lines. */
static void unpad_line(const char *line, char *to) {
    enum { PADDED = 260, BARE = 256, FEWEST = 3 };
    while (*line) {
        const size_t digits = strspn(line, "0123456789");
        const int number = digits >= FEWEST && digits < 6 ? atoi(line) : 0;
        if (number && number % PADDED == 0) to += sprintf(to, "%d", number / PADDED * BARE);
        else to += sprintf(to, "%.*s", digits ? (int)digits : 1, line);
        line += digits ? digits : 1;
    }
}
char *edit_unpad(const char *text) { return each_line(text, unpad_line); }
