# Builds a fuzzer, and runs it for SECONDS on a copy of its corpus, so that what it finds never enters the sources.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ${TARGET} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${TARGET} does not build")
endif()
file(REMOVE_RECURSE ${WORK})
file(COPY ${CORPUS}/ DESTINATION ${WORK})
execute_process(COMMAND ${PROGRAM} -max_total_time=${SECONDS} -max_len=4096 -timeout=10 -rss_limit_mb=2048
  -print_final_stats=1 -artifact_prefix=${WORK}.crash. ${WORK} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the fuzzer found something; its input is beside ${WORK}")
endif()
