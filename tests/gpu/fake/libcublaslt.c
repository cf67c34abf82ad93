/* A libcublasLt.so.13 for tests: its calls are those of the fake libcuda.so.1, on which it depends. With FAKE_LT_VERSION it is of another
 * version; where it depends on nothing, all other calls are missing. */
#include <stddef.h>

#if defined(FAKE_LT_VERSION)
size_t cublasLtGetVersion(void);
__attribute__((visibility("default"))) size_t cublasLtGetVersion(void) { return FAKE_LT_VERSION; }
#else
extern const int fake_libcublaslt;
const int fake_libcublaslt = 1; /* a file of C has something in it */
#endif
