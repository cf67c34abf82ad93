/* How NVIDIA's libraries are found: their calls are looked up when they are first wanted, nothing is linked. */
#ifndef DTP_GPU_DRIVER_LIBRARY_H
#define DTP_GPU_DRIVER_LIBRARY_H

/* Why a library is not there; "": it is. */
typedef struct {
    char text[512];
} dtp_why_t;
/* Appends to it. */
void dtp_why(dtp_why_t *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens a library for this process alone: the copy that the process already has, the one in DNNL_TP_CUDA_PATH, the system's, the one
 * in this folder (NULL: none). NULL, and why, if there is none that can be loaded. */
void *dtp_library_open(const char *soname, const char *folder, dtp_why_t *why);

#endif
