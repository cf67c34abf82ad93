# DNNL_GPU_RUNTIME: NONE, or CUDA: the engine for NVIDIA GPUs (src/gpu). Its C code needs no toolkit; its kernels need nvcc 13.0,
# from DNNL_TP_NVCC, build/cuda (scripts/get_cuda), the PATH or /usr/local/cuda. Without one they are left out, and configure
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
if(DNNL_TP_WITH_CUDA)
  find_program(DNNL_TP_NVCC nvcc HINTS ${PROJECT_SOURCE_DIR}/build/cuda/bin /usr/local/cuda/bin DOC "nvcc of CUDA 13.0")
  if(DNNL_TP_NVCC)
    execute_process(COMMAND ${DNNL_TP_NVCC} --version OUTPUT_VARIABLE nvcc_version)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" nvcc_version "${nvcc_version}")
    # A later one emits PTX that a driver of toolkit 13.0 does not take.
    if(nvcc_version STREQUAL "release 13.0")
      set(DNNL_TP_WITH_CUDA_KERNELS 1)
    endif()
  endif()
  if(NOT DNNL_TP_WITH_CUDA_KERNELS)
    message(WARNING "No nvcc of CUDA 13.0 was found (${DNNL_TP_NVCC} ${nvcc_version}): this build has NO GPU KERNELS, every "
      "primitive on a GPU engine will answer unimplemented. scripts/get_cuda brings one.")
  endif()
endif()
# Real architectures of the embedded kernels; readable PTX of compute_80 is always there. Empty: PTX alone.
set(DNNL_TP_CUDA_ARCHITECTURES "80;89;90;100;120" CACHE STRING "GPU architectures of the embedded kernels")

# A C file for each .cu with its fatbin as an array dtp_fatbin_<name>; appends them to `out`.
function(dnnl_tp_fatbins out)
  set(codes "-gencode=arch=compute_80,code=compute_80")
  foreach(arch IN LISTS DNNL_TP_CUDA_ARCHITECTURES)
    list(APPEND codes "-gencode=arch=compute_${arch},code=sm_${arch}")
  endforeach()
  get_filename_component(bin ${DNNL_TP_NVCC} DIRECTORY)
  set(made ${${out}})
  foreach(source IN LISTS ARGN)
    get_filename_component(name ${source} NAME_WE)
    set(base ${PROJECT_BINARY_DIR}/fatbins/${name})
    add_custom_command(OUTPUT ${base}.c
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/fatbins
      COMMAND ${DNNL_TP_NVCC} -fatbin --no-compress -std=c++17 -O3 --ftz=false --prec-div=true --prec-sqrt=true -Werror all-warnings
        ${codes} -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_BINARY_DIR}/include
        -MD -MF ${base}.d -MT ${base}.c -o ${base}.fatbin ${source}
      COMMAND ${CMAKE_COMMAND} -DBIN2C=${bin}/bin2c -DNAME=dtp_fatbin_${name} -DFROM=${base}.fatbin -DTO=${base}.c
        -P ${PROJECT_SOURCE_DIR}/cmake/bin2c.cmake
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/bin2c.cmake DEPFILE ${base}.d
      COMMENT "Building CUDA fatbin ${name}" VERBATIM)
    list(APPEND made ${base}.c)
  endforeach()
  set(${out} ${made} PARENT_SCOPE)
endfunction()
