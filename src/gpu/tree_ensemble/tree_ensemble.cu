/* Ensembles of trees: a thread walks a row through a tree, then a thread adds the entries of a result, in the order of the
 * trees. */
#include "gpu/device/finding.cuh"
#include "gpu/tree_ensemble/tree_ensemble_args.h"

/* ---- Indices that are outside their tables ------------------------------------------------------------ */

struct index_t {
    int64_t value, limit;
    __device__ bool is_outside() const { return value < 0 || value >= limit; }
};
/* Tables in the order in which they are checked. Entry i of a table has two indices. */
enum { NODES, ROOTS, LEAVES, TARGETS, TABLES };

DTP_DEVICE index_t index_of(const dtp_tree_ensemble_args_t &a, int table, int64_t i, int second) {
    const int64_t entries = a.nentries + 1;
    switch (table) {
    case NODES:
        return second ? index_t{a.nodes[2 * i + 1], a.nnodes - 1}
                      : index_t{a.nodes[2 * i] & 0x7fffffff, a.features};
    case ROOTS: return index_t{a.roots[2 * i + second], second ? (int64_t)0x7fffffff : a.nnodes};
    case LEAVES: return index_t{(int64_t)a.leaves[i] - (second && i > 0 ? a.leaves[i - 1] : 0), entries};
    default: return index_t{a.targets[i], a.ntargets};
    }
}

/* One block. Notes the first that is outside. */
DTP_KERNEL(dtp_trees_check, dtp_tree_ensemble_args_t, DTP_TREES_CHECK_THREADS) {
    __shared__ int room[TABLES]; /* one each: no thread waits for the readers of the one before */
    const int64_t length[TABLES] = {a.nnodes, a.trees, a.nnodes + 1, a.nentries};
    int table = 0, bad = DTP_NONE;
    for (; table < TABLES; ++table) {
        bad = DTP_NONE;
        for (int64_t i = threadIdx.x; i < length[table] && bad == DTP_NONE; i += blockDim.x)
            if (index_of(a, table, i, 0).is_outside() || index_of(a, table, i, 1).is_outside()) bad = (int)i;
        bad = dtp_smallest(bad, &room[table]);
        if (bad != DTP_NONE) break;
    }
    if (threadIdx.x > 0) return;
    *a.bad = bad != DTP_NONE;
    if (bad == DTP_NONE) return;
    index_t index = index_of(a, table, bad, 0);
    if (!index.is_outside()) index = index_of(a, table, bad, 1);
    dtp_note(a.note, DTP_GPU_FOUND_ID, bad, index.value, index.limit);
}

/* ---- Results ------------------------------------------------------------------------------------------ */

template <class T> DTP_DEVICE void walk(const dtp_tree_ensemble_args_t &a) {
    const int64_t thread = dtp_thread();
    if (thread >= a.trees * a.rows || (a.bad && *a.bad)) return;
    const int64_t tree = thread / a.rows, row = thread - tree * a.rows;
    const T *src = (const T *)a.src + (a.first + row) * a.features, *splits = (const T *)a.splits;
    int32_t at = a.roots[2 * tree];
    const int32_t steps = a.roots[2 * tree + 1];
    for (int32_t s = 0; s < steps; ++s) {
        const T split = splits[at];
        const int32_t feature = a.nodes[2 * at], next = a.nodes[2 * at + 1];
        const T x = src[feature & 0x7fffffff];
        const bool first = x <= split || (x != x && feature < 0);
        if (next + !first == at) break; /* a leaf: rows stay */
        at = next + !first;
    }
    a.reached[thread] = at;
}
DTP_KERNEL(dtp_trees_walk_f32, dtp_tree_ensemble_args_t, DTP_TREES_THREADS) { walk<float>(a); }
DTP_KERNEL(dtp_trees_walk_f64, dtp_tree_ensemble_args_t, DTP_TREES_THREADS) { walk<double>(a); }

template <class T> DTP_DEVICE void add(const dtp_tree_ensemble_args_t &a) {
    const int64_t thread = dtp_thread();
    if (thread >= a.rows * a.ntargets) return;
    const int64_t row = thread / a.ntargets, target = thread - row * a.ntargets;
    const T *weights = (const T *)a.weights;
    const bool chooses = a.aggregate == DTP_TREES_BY_MIN || a.aggregate == DTP_TREES_BY_MAX;
    T sum = 0;
    bool seen = false;
    for (int64_t t = 0; t < a.trees && !(a.bad && *a.bad); ++t) {
        const int32_t at = a.reached[t * a.rows + row], end = a.leaves[at + 1];
        for (int32_t e = a.leaves[at]; e < end; ++e) {
            if (a.targets[e] != target) continue;
            const T w = weights[e];
            if (!chooses) sum += w;
            else if (!seen || (a.aggregate == DTP_TREES_BY_MIN ? w < sum : w > sum)) sum = w;
            seen = true;
        }
    }
    if (a.aggregate == DTP_TREES_BY_AVERAGE) sum /= (T)a.trees;
    ((T *)a.dst)[a.first * a.ntargets + thread] = sum;
}
DTP_KERNEL(dtp_trees_add_f32, dtp_tree_ensemble_args_t, DTP_TREES_THREADS) { add<float>(a); }
DTP_KERNEL(dtp_trees_add_f64, dtp_tree_ensemble_args_t, DTP_TREES_THREADS) { add<double>(a); }
