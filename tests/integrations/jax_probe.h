/* Called by jax_test.py through ctypes. */
#ifndef DTP_TESTS_JAX_PROBE_H
#define DTP_TESTS_JAX_PROBE_H

/* Handlers that meet wait until n of them are inside; the most that were since. */
__attribute__((visibility("default"))) void jax_probe_meet(int n);
__attribute__((visibility("default"))) int jax_probe_most(void);
/* Name of a thread that helped. */
__attribute__((visibility("default"))) const char *jax_probe_helper(void);

#endif
