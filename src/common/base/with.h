/* Mechanisms that nothing but speed justifies. Each is 1; a build for comparison leaves some out
 * (cmake -DDNNL_TP_WITHOUT="learning;clusters"; scripts/compare_without builds and measures them). Results do not depend
 * on any of them. A gate is one `if (DTP_WITH_...)` in C, so that both ways compile. */
#ifndef DTP_COMMON_BASE_WITH_H
#define DTP_COMMON_BASE_WITH_H

#ifndef DTP_WITH_SLICES /* row slices: operators of a batch run slice by slice (compile/slices) */
#define DTP_WITH_SLICES 1
#endif
#ifndef DTP_WITH_LEARNING /* states learn what closures cost from their runs (dataflow/run/learn.c) */
#define DTP_WITH_LEARNING 1
#endif
#ifndef DTP_WITH_CLUSTERS /* small nodes become lists without counters (dataflow/build/cluster.c) */
#define DTP_WITH_CLUSTERS 1
#endif
#ifndef DTP_WITH_LENDING /* executables of a graph lend each other memory (graph/lent.c) */
#define DTP_WITH_LENDING 1
#endif
#ifndef DTP_WITH_EVERY_OTHER /* of 5 to 16 tasks every other one is given away, not the older half */
#define DTP_WITH_EVERY_OTHER 1
#endif
#ifndef DTP_WITH_LARGE_PAGES /* memory from 2 MB on asks for large pages (base.c) */
#define DTP_WITH_LARGE_PAGES 1
#endif
#ifndef DTP_WITH_CHUNKS /* longer loops have more than one chunk for each thread (loops/shared_loop.c) */
#define DTP_WITH_CHUNKS 1
#endif
#ifndef DTP_WITH_GATE /* tasks are given away when somebody looks for some and it is worth it (dataflow/run/share.c) */
#define DTP_WITH_GATE 1
#endif
#ifndef DTP_WITH_SPINNING /* idle threads and openers of loops spin before they sleep */
#define DTP_WITH_SPINNING 1
#endif

#endif
