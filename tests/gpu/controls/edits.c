/* See edits.h. */
#include "gpu/controls/edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };
static const char entry[] = ".visible .entry ";

static const struct {
    const char *name, *line; /* what such lines contain */
} bugs[BUGS] = {{"removed __syncthreads", "bar.sync"},
                {"removed __syncwarp", "bar.warp.sync"},
                {"removed cp.async.wait", "cp.async.wait"},
                {"late cp.async.wait", "cp.async.wait"},
                {"wrong shuffle mask", "shfl.sync"},
                {"swapped mma lanes", "mma.sync"},
                {"off-by-one bound", "setp."}};

const char *bug_name(bug_t bug) { return bugs[bug].name; }

/* The end of the line that begins at `at`, behind its newline. */
static const char *line_end(const char *at) {
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

const char *next_kernel(const char *at, char *name) {
    at = strstr(at, entry);
    if (!at) return NULL;
    at += sizeof entry - 1;
    const size_t n = strcspn(at, "( \n");
    snprintf(name, 64, "%.*s", (int)n, at);
    return at + n;
}

/* Behind the body of a kernel, which begins at `at`. */
static const char *body_end(const char *at) {
    int depth = 0;
    do {
        depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
    } while (*at && (*at++ != '}' || depth));
    return at;
}

char *kernel_text(const char *module, const char *kernel) {
    char *text = malloc(strlen(module) + 1), *to = text;
    bool found = false;
    while (*module) {
        const char *end = line_end(module);
        bool is_kernel = !strncmp(module, entry, sizeof entry - 1);
        if (is_kernel) {
            const char *name = module + sizeof entry - 1;
            end = body_end(module);
            is_kernel = strcspn(name, "( \n") != strlen(kernel) || strncmp(name, kernel, strlen(kernel)) != 0;
            found |= !is_kernel;
        }
        if (!is_kernel) {
            memcpy(to, module, (size_t)(end - module));
            to += end - module;
        }
        module = end;
    }
    *to = '\0';
    if (found) return text;
    free(text);
    return NULL;
}

/* ---- Lines ------------------------------------------------------------------------------------------- */

/* The letters of a comparison of integers that take their place; NULL: this is none. */
static const char *other_bound(const char *name) {
    static const char *const others[][2] = {{"lt", "le"}, {"le", "lt"}, {"gt", "ge"}, {"ge", "gt"}};
    const char *type = strchr(name, '.');
    if (!type || (type[1] != 's' && type[1] != 'u')) return NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (!strncmp(name, others[i][0], 2)) return others[i][1];
    return NULL;
}

/* Two registers are compared, which are no constants. */
static const char *bound_of(const char *line) {
    const char *name = strstr(line, "setp.") + 5;
    const char *last = strrchr(line, ',');
    return last && strchr(last, '%') && !strstr(name, ".and.") && !strstr(name, ".or.") ? other_bound(name)
                                                                                        : NULL;
}

/* Whether `what` begins before `end`. */
static bool has(const char *line, const char *end, const char *what) {
    const char *at = strstr(line, what);
    return at && at < end;
}

/* Behind the barrier that comes next, if no branch and no label is before it; else NULL. */
static const char *behind_barrier(const char *at) {
    while (*at) {
        const char *end = line_end(at);
        if (has(at, end, "bar.sync")) return end;
        if (*at == '$' || has(at, end, "bra") || has(at, end, "ret;")) return NULL;
        at = end;
    }
    return NULL;
}

/* next: the lines that follow. */
static bool is_site(const char *line, const char *next, bug_t bug) {
    if (!strstr(line, bugs[bug].line)) return false;
    if (bug == BUG_LATE_WAIT) return behind_barrier(next);
    return bug != BUG_BOUND || bound_of(line);
}

/* {a,b,...} becomes {b,a,...} in the second group of registers, the first operand. */
static void swap_registers(const char *line, char *to) {
    const char *a = strchr(strchr(line, '{') + 1, '{') + 1, *comma = strchr(a, ',');
    const char *end = comma + 1 + strcspn(comma + 1, ",}");
    snprintf(to, LINE, "%.*s%.*s,%.*s%s", (int)(a - line), line, (int)(end - comma - 1), comma + 1,
             (int)(comma - a), a, end);
}

static void edit(const char *line, bug_t bug, char *to) {
    const char *at = strstr(line, bugs[bug].line);
    switch (bug) {
    case BUG_SHUFFLE_MASK:
        snprintf(to, LINE, "%.*s, 65535;\n", (int)(strrchr(line, ',') - line), line);
        break;
    case BUG_MMA_LANES: swap_registers(line, to); break;
    case BUG_BOUND: snprintf(to, LINE, "%.*s%s%s", (int)(at + 5 - line), line, bound_of(line), at + 7); break;
    default: snprintf(to, LINE, "\n");
    }
}

/* Line number `site` of those that the bug can be put into; from, to: where it is. */
static bool find_site(const char *text, bug_t bug, int site, const char **from, const char **to) {
    char line[LINE];
    for (const char *at = text; *at; at = *to) {
        *from = at;
        *to = line_end(at);
        if (*to - at >= LINE) continue;
        snprintf(line, LINE, "%.*s", (int)(*to - at), at);
        if (is_site(line, *to, bug) && !site--) return true;
    }
    return false;
}

int count_sites(const char *text, bug_t bug) {
    const char *from, *to;
    int n = 0;
    for (const char *at = strstr(text, entry); at && find_site(at, bug, 0, &from, &to); at = to) ++n;
    return n;
}

char *with_bug(const char *text, bug_t bug, int site, bool trap) {
    const char *from, *to, *head = strstr(text, entry);
    char line[LINE], wrong[LINE];
    if (!head || !find_site(head, bug, site, &from, &to)) return NULL;
    snprintf(line, LINE, "%.*s", (int)(to - from), from);
    if (trap) snprintf(wrong, LINE, "trap;\n");
    else edit(line, bug, wrong);
    const char *behind = bug == BUG_LATE_WAIT && !trap ? behind_barrier(to) : to;
    char *result = malloc(strlen(text) + 2 * LINE);
    sprintf(result, "%.*s%s%.*s%s%s", (int)(from - text), text, wrong, (int)(behind - to), to,
            behind > to ? line : "", behind);
    return result;
}
