/* Implementations of ensembles of trees on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(tree_ensemble__any) X(tree_ensemble__ref)
DTP_CPU_LIST(tree_ensemble, IMPLS);
