# Builds a fuzzer, and makes RUNS runs, always the same, on a copy of its corpus, so that what it finds never
# enters the sources. To search on: the program itself, without -seed and -runs.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ${TARGET} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${TARGET} does not build")
endif()
file(REMOVE_RECURSE ${WORK})
file(COPY ${CORPUS}/ DESTINATION ${WORK})
execute_process(COMMAND ${PROGRAM} -seed=1 -runs=${RUNS} -max_total_time=60 -max_len=4096 -timeout=10 -rss_limit_mb=2048
  -print_final_stats=1 -artifact_prefix=${WORK}.crash. ${WORK} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the fuzzer found something; its input is beside ${WORK}")
endif()
