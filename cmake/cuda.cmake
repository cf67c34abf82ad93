# DNNL_GPU_RUNTIME: NONE, or CUDA: the engine for NVIDIA GPUs (src/gpu). Its C code needs no toolkit; its kernels need nvcc 13.0,
# of DNNL_TP_NVCC, build/cuda (scripts/get_cuda), the PATH or /usr/local/cuda. Without one they are left out, and configure
# and dnnl_tp_version() say so.
if(PROJECT_IS_TOP_LEVEL)
  set(DNNL_GPU_RUNTIME "NONE" CACHE STRING "NONE or CUDA")
  set_property(CACHE DNNL_GPU_RUNTIME PROPERTY STRINGS NONE CUDA)
endif()
set(DNNL_TP_GPU_RUNTIME_VALUE 0u)
set(DNNL_TP_WITH_CUDA 0)
set(DNNL_TP_WITH_CUDA_KERNELS 0)
set(DNNL_TP_GPU_LIBRARY)
if(DNNL_GPU_RUNTIME STREQUAL "CUDA")
  set(DNNL_TP_GPU_RUNTIME_VALUE 2048u)
  set(DNNL_TP_WITH_CUDA 1)
  set(DNNL_TP_GPU_LIBRARY ${CMAKE_DL_LIBS})
elseif(DNNL_GPU_RUNTIME AND NOT DNNL_GPU_RUNTIME STREQUAL "NONE")
  message(FATAL_ERROR "DNNL_GPU_RUNTIME is '${DNNL_GPU_RUNTIME}'; valid values: NONE, CUDA")
endif()
# The first nvcc of CUDA 13.0: a later one emits PTX that a driver of 13.0 does not take.
set(DNNL_TP_NVCC "" CACHE FILEPATH "nvcc of CUDA 13.0; empty: it is looked for")
if(DNNL_TP_WITH_CUDA)
  find_program(nvcc_of_path nvcc NO_CACHE)
  file(GLOB nvccs ${PROJECT_SOURCE_DIR}/build/cuda/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
  set(nvcc)
  foreach(candidate IN LISTS DNNL_TP_NVCC nvccs nvcc_of_path ITEMS /usr/local/cuda/bin/nvcc /usr/local/cuda-13.0/bin/nvcc)
    if(EXISTS ${candidate} AND NOT nvcc)
      execute_process(COMMAND ${candidate} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
      if(nvcc_version MATCHES "release 13\\.0")
        set(nvcc ${candidate})
      endif()
    endif()
  endforeach()
  if(nvcc)
    message(STATUS "GPU kernels: compiled by ${nvcc}")
    set(DNNL_TP_WITH_CUDA_KERNELS 1)
  else()
    message(WARNING "No nvcc of CUDA 13.0 was found: this build has NO GPU KERNELS, every primitive of a GPU engine will answer "
      "unimplemented, and dnnl_tp_version() says so. scripts/get_cuda brings one.")
  endif()
endif()
# Real architectures of the embedded kernels; readable PTX of compute_80 is always there. Empty: PTX alone.
set(DNNL_TP_CUDA_ARCHITECTURES "80;89;90;100;120" CACHE STRING "GPU architectures of the embedded kernels")

# A C file for each .cu with its fatbin as an array dtp_fatbin_<name>; appends them to `out`. What a fatbin holds is compressed by
# Zstandard, as it is by default: every driver that takes CUDA 13.0 reads that. What ptxas says of registers and stacks
# lies beside it, for the test package_gpu_spills.
function(dnnl_tp_fatbins out)
  set(codes "-gencode=arch=compute_80,code=compute_80")
  foreach(arch IN LISTS DNNL_TP_CUDA_ARCHITECTURES)
    list(APPEND codes "-gencode=arch=compute_${arch},code=sm_${arch}")
  endforeach()
  get_filename_component(bin ${nvcc} DIRECTORY)
  set(made ${${out}})
  foreach(source IN LISTS ARGN)
    get_filename_component(name ${source} NAME_WE)
    set(base ${PROJECT_BINARY_DIR}/fatbins/${name})
    add_custom_command(OUTPUT ${base}.c
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/fatbins
      COMMAND ${CMAKE_COMMAND} -E rm -f ${base}.fatbin
      COMMAND ${nvcc} -fatbin --compress-mode=size -std=c++17 -O3 --ftz=false --prec-div=true --prec-sqrt=true -Werror all-warnings -Xptxas -v
        ${codes} -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_BINARY_DIR}/include
        -MD -MF ${base}.d -MT ${base}.c -o ${base}.fatbin ${source} 2> ${base}.ptxas || true
      COMMAND ${CMAKE_COMMAND} -DBIN2C=${bin}/bin2c -DNAME=dtp_fatbin_${name} -DFROM=${base}.fatbin -DSAID=${base}.ptxas -DTO=${base}.c
        -P ${PROJECT_SOURCE_DIR}/cmake/bin2c.cmake
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/bin2c.cmake DEPFILE ${base}.d
      COMMENT "Building CUDA fatbin ${name}" VERBATIM)
    list(APPEND made ${base}.c)
  endforeach()
  set(${out} ${made} PARENT_SCOPE)
endfunction()
