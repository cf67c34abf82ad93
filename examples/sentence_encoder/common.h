/* What every file of the sentence encoder shares: the one-line error, and memory that tests can make fail.
 * Read main.c first; then model.c, tokenizer.c, encoder.c, own_pool.c. */
#ifndef SE_COMMON_H
#define SE_COMMON_H

#include <stddef.h>
#include <stdint.h>

/* The text of a failure: one line, without newline. */
typedef struct {
    char text[512];
} se_error_t;

/* Writes the text and returns -1, so that a function can `return se_fail(...)`. */
int se_fail(se_error_t *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int se_fail_memory(se_error_t *error);

/* All memory of the program comes from here, cJSON's included. NULL restores malloc and free. */
typedef struct {
    void *(*alloc)(size_t bytes);
    void (*free)(void *ptr);
} se_mem_hooks_t;
void se_mem_set_hooks(const se_mem_hooks_t *hooks);
void *se_alloc(size_t bytes);
void *se_zalloc(size_t bytes);
/* n * bytes with a check for overflow. */
void *se_alloc_array(size_t n, size_t bytes);
void se_free(void *ptr);
/* Doubles an array of capacity *cap so that it holds at least `need` elements. */
int se_grow(void **array, size_t *cap, size_t need, size_t bytes, se_error_t *error);
char *se_strdup(const char *s);

/* A file as bytes: mapped when it is a regular file, read to its end otherwise (a pipe, "-" = stdin). */
typedef struct {
    const unsigned char *data;
    size_t size;
    int mapped;
} se_file_t;
int se_file_open(se_file_t *file, const char *path, size_t max_bytes, se_error_t *error);
void se_file_close(se_file_t *file);

/* "DIR/NAME" in a fresh string. */
char *se_path(const char *dir, const char *name, se_error_t *error);

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t se_now_ns(void);

#endif
