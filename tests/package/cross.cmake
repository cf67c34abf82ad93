# A compiler for another processor builds the library: its reference paths need no x86 kernel.
cmake_minimum_required(VERSION 3.25)
find_program(CROSS_C aarch64-linux-gnu-gcc)
find_program(CROSS_CXX aarch64-linux-gnu-g++)
if(NOT CROSS_C OR NOT CROSS_CXX)
  message("SKIPPED: no aarch64 cross compiler; scripts/setup test installs it")
  return()
endif()
if(SANITIZE)
  message("SKIPPED: once is enough, in the plain build")
  return()
endif()
file(REMOVE_RECURSE ${WORK_DIR})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G ${GENERATOR}
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64
    -DCMAKE_C_COMPILER=${CROSS_C} -DCMAKE_CXX_COMPILER=${CROSS_CXX} -DDNNL_CPU_RUNTIME=${RUNTIME}
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG" # nobody runs it
    -DDNNL_TP_BUILD_TESTS=OFF -DDNNL_TP_BUILD_EXAMPLES=OFF -DDNNL_TP_BUILD_BENCHDNN=OFF
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK_DIR} COMMAND_ERROR_IS_FATAL ANY)
# Linked completely: nothing of the project is left undefined.
execute_process(COMMAND ${NM} -D --undefined-only ${WORK_DIR}/src/libdnnl_tp.so OUTPUT_VARIABLE undefined
  COMMAND_ERROR_IS_FATAL ANY)
if(undefined MATCHES "(dnnl_tp_|dtp_)[a-z0-9_]+")
  message(FATAL_ERROR "undefined in the cross-built library: ${CMAKE_MATCH_0}")
endif()
