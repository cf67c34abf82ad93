/* Kernels whose PTX, made by `nvcc -ptx -arch=compute_80 kernels.cu`, the tests run. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* Sums of rows: warps by shuffles, then the block through shared memory. */
extern "C" __global__ void rowsum(const float *__restrict__ x, float *__restrict__ y, int n) {
    __shared__ float part[32];
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[(long)blockIdx.x * n + i];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0.f;
        for (int w = 0; w < (int)(blockDim.x >> 5); ++w) t += part[w];
        y[blockIdx.x] = t;
    }
}

/* Blocks of 32 x 32 through shared memory. */
extern "C" __global__ void transpose(const uint16_t *x, uint16_t *y, int64_t rows, int64_t cols) {
    __shared__ uint16_t t[32][34];
    int64_t c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += blockDim.y)
        if (r0 + k < rows && c < cols) t[k][threadIdx.x] = x[(r0 + k) * cols + c];
    __syncthreads();
    int64_t r = r0 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += blockDim.y) {
        int64_t cc = blockIdx.x * 32 + k;
        if (r < rows && cc < cols) y[cc * rows + r] = t[threadIdx.x][k];
    }
}

__device__ inline void mma(float *d, const uint32_t *a, const uint32_t *b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* C[M][N] = A[M][K] B[N][K]^T in tiles of 64 x 32, two stages of asynchronous copies; K is a multiple of 32. */
extern "C" __global__ void gemm(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N,
                                int K) {
    __shared__ __align__(16) __nv_bfloat16 sa[2][64][40], sb[2][32][40];
    float acc[4][4] = {};
    int t = threadIdx.x, w = t >> 5, l = t & 31, buf = 0;
    auto copy = [&](__nv_bfloat16(*to)[40], const __nv_bfloat16 *from, int row0, int rows, int limit,
                    int k0) {
        for (int i = t; i < rows * 4; i += blockDim.x) {
            int r = i >> 2, c = (i & 3) * 8, bytes = row0 + r < limit ? 16 : 0;
            uint32_t d = (uint32_t)__cvta_generic_to_shared(&to[r][c]);
            asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(d),
                         "l"(from + (size_t)(row0 + r) * K + k0 + c), "r"(bytes));
        }
    };
    auto load = [&](int k0, int to) {
        copy(sa[to], A, blockIdx.y * 64, 64, M, k0);
        copy(sb[to], B, blockIdx.x * 32, 32, N, k0);
        asm volatile("cp.async.commit_group;");
    };
    load(0, 0);
    for (int k0 = 0; k0 < K; k0 += 32, buf ^= 1) {
        if (k0 + 32 < K) {
            load(k0 + 32, buf ^ 1);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        for (int kk = 0; kk < 32; kk += 16) {
            uint32_t a[4],
                s = (uint32_t)__cvta_generic_to_shared(&sa[buf][w * 16 + (l & 15)][kk + (l >> 4) * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                         : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                         : "r"(s));
            for (int j = 0; j < 4; ++j) {
                uint32_t b[2], q = (uint32_t)__cvta_generic_to_shared(
                                   &sb[buf][j * 8 + (l & 7)][kk + ((l >> 3) & 1) * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];"
                             : "=r"(b[0]), "=r"(b[1])
                             : "r"(q));
                mma(acc[j], a, b);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i) {
            int r = blockIdx.y * 64 + w * 16 + (l >> 2) + (i >> 1) * 8,
                c = blockIdx.x * 32 + j * 8 + (l & 3) * 2 + (i & 1);
            if (r < M && c < N) C[(size_t)r * N + c] = acc[j][i];
        }
}

struct params {
    int n;
    long off[4];
    float a;
    short s;
};
__constant__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int counter;

__device__ __noinline__ float called(float x, int n) {
    float b[16];
    for (int i = 0; i < 16; i++) b[i] = x * i;
    return b[n & 15] + n;
}

/* Parameters in a struct, a call, local arrays, a switch, atomics, module variables. */
extern "C" __global__ void __launch_bounds__(128)
    mixed(params p, const int *x, int *y, int64_t *sum, float *f) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, v = x[t];
    switch (t % 7) {
    case 0: v += 5; break;
    case 1: v *= v; break;
    case 2: v ^= t; break;
    case 3: v = v / 3; break;
    case 4: v = v % p.s; break;
    case 5: v = __popc(v); break;
    default: v = abs(v);
    }
    y[t] = v;
    atomicAdd((unsigned long long *)sum, (unsigned long long)((long)v * p.off[t & 3] / (p.n + t)));
    atomicAdd(&counter, 1);
    f[t] = called(p.a, t) + table[t & 7];
}

/* What math functions of f32 come to. */
extern "C" __global__ void functions(const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        y[i] = expf(v);
        y[n + i] = tanhf(v);
        y[2 * n + i] = erff(v);
        y[3 * n + i] = logf(fabsf(v));
        y[4 * n + i] = powf(fabsf(v), 1.7f);
        y[5 * n + i] = log1pf(fabsf(v));
        y[6 * n + i] = 1.f / (1.f + __expf(-v));
        y[7 * n + i] = sqrtf(fabsf(v)) / (v + 20.f);
        y[8 * n + i] = __half2float(__float2half(v));
        y[9 * n + i] = __bfloat162float(__float2bfloat16(v));
    }
}
