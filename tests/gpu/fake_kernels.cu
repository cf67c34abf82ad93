/* What tests/gpu/test_fake_kernels.c runs. fake_kernels.ptx is made from it: nvcc -ptx -arch=sm_80 */
__constant__ float steps[2] = {1, 2};
__device__ int launches;

extern "C" __global__ void add_step(float *y, int which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += steps[which];
    if (i == 0) launches++;
}

extern "C" __global__ void put(float *y, float value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = value;
}

extern "C" __global__ void count(int *y) { *y = launches; }

extern "C" __global__ void pack(double *y, signed char a, double b, short c) { *y = a + b + c; }

extern "C" __global__ void follow(float **y) { **y = 3; }

extern "C" __global__ void __launch_bounds__(64) turn(float *y) {
    extern __shared__ float s[];
    s[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
