# The CUDA engine's tests on machines without a GPU: an interpreter of PTX, and a driver that runs kernels with it.
add_subdirectory(gpu/ptx)
# The driver, as a library whose table a test installs, and as the libcuda.so.1 that a program finds.
file(GLOB fake_cuda CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/gpu/fake/*.c)
list(FILTER fake_cuda EXCLUDE REGEX "/libcuda.c$")
add_library(dnnl_tp_fake_cuda STATIC ${fake_cuda})
set_target_properties(dnnl_tp_fake_cuda PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(dnnl_tp_fake_cuda PUBLIC ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(dnnl_tp_fake_cuda PUBLIC _GNU_SOURCE)
target_link_libraries(dnnl_tp_fake_cuda PUBLIC dnnl_tp_ptx Threads::Threads PRIVATE dnnl_tp_build_flags)
add_library(dnnl_tp_fake_libcuda SHARED gpu/fake/libcuda.c)
set_target_properties(dnnl_tp_fake_libcuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_libcuda)
target_link_libraries(dnnl_tp_fake_libcuda PRIVATE dnnl_tp_fake_cuda dnnl_tp_build_flags)

function(gpu_test name)
  add_executable(test_gpu_${name} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/test_${name}.c)
  target_link_libraries(test_gpu_${name} PRIVATE ${ARGN} PkgConfig::CMOCKA dnnl_tp_build_flags)
  add_test(NAME gpu_${name} COMMAND test_gpu_${name})
  set_tests_properties(gpu_${name} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endfunction()
gpu_test(fake dnnl_tp_fake_cuda)
gpu_test(abi dnnl_tp_fake_cuda)
gpu_test(fake_kernels dnnl_tp_fake_cuda)
target_compile_definitions(test_gpu_fake_kernels PRIVATE FAKE_KERNELS_PTX="${CMAKE_CURRENT_LIST_DIR}/gpu/fake_kernels.ptx")
if(DNNL_TP_WITH_CUDA_KERNELS) # the same kernels as nvcc packs them
  set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/fake_kernels.fatbin)
  add_custom_command(OUTPUT ${fatbin} DEPENDS ${CMAKE_CURRENT_LIST_DIR}/gpu/fake_kernels.cu
    COMMAND ${nvcc} -fatbin --no-compress -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_80,code=compute_80
      -o ${fatbin} ${CMAKE_CURRENT_LIST_DIR}/gpu/fake_kernels.cu)
  add_custom_target(fake_kernels_fatbin ALL DEPENDS ${fatbin})
  add_test(NAME gpu_fake_kernels_fatbin COMMAND test_gpu_fake_kernels ${fatbin})
  set_tests_properties(gpu_fake_kernels_fatbin PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endif()
if(DNNL_GPU_RUNTIME STREQUAL "CUDA")
  gpu_test(engine dnnl_tp_fake_cuda dnnl_tp_test_support Threads::Threads)
  target_sources(test_gpu_engine PRIVATE gpu/gpu_world.c)
endif()
find_path(cuda_include cuda.h HINTS /usr/local/cuda/include)
if(cuda_include) # else the test compares nothing
  target_include_directories(test_gpu_abi SYSTEM PRIVATE ${cuda_include})
endif()
# How the driver is found: the test runs itself with and without the library above.
gpu_test(load dnnl_tp_test_support Threads::Threads ${CMAKE_DL_LIBS})
if(NOT DNNL_GPU_RUNTIME STREQUAL "CUDA")
  target_sources(test_gpu_load PRIVATE ${PROJECT_SOURCE_DIR}/src/gpu/driver/cu_api.c)
endif()
target_compile_definitions(test_gpu_load PRIVATE FAKE_LIBCUDA="${CMAKE_CURRENT_BINARY_DIR}/fake_libcuda")
add_dependencies(test_gpu_load dnnl_tp_fake_libcuda)
