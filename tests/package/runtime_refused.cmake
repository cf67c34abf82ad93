# An unknown DNNL_CPU_RUNTIME is refused at configure time, with the list of valid ones.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK_DIR})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G ${GENERATOR} -DDNNL_CPU_RUNTIME=bogus
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
    -DDNNL_TP_BUILD_TESTS=OFF -DDNNL_TP_BUILD_EXAMPLES=OFF -DDNNL_TP_BUILD_BENCHDNN=OFF
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "configuring with DNNL_CPU_RUNTIME=bogus succeeded")
endif()
foreach(text IN ITEMS "'bogus'" "EXT_THREADPOOL" "SEQ" "OMP" "TBB")
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "the message does not name ${text}:\n${output}")
  endif()
endforeach()
