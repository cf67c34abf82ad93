# Fuzzers of what takes graphs from others: a corpus and inputs at random are replayed as a test; with clang a short
# run of the real one, the same each time, is a test of label full (`ninja build_fuzz_graph` makes the program).
# fuzzer(NAME REPLAY what is replayed beside the corpus SOURCES beside the fuzzer's own PARTS of src
#   LIBS beside the main one FILES with their paths, FLAGS: what the parts need)
function(fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "REPLAY;SOURCES;PARTS;LIBS;FILES;FLAGS")
  set(fuzz ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
  list(TRANSFORM arg_SOURCES PREPEND ${fuzz}/)
  list(PREPEND arg_SOURCES ${fuzz}/fuzz_${name}.c)
  add_executable(replay_${name} ${fuzz}/fuzz_replay.c ${arg_SOURCES})
  target_link_libraries(replay_${name} PRIVATE ${arg_LIBS} dnnl_tp_switch_merge dnnl_tp_static dnnl_tp_build_flags Threads::Threads m)
  target_compile_definitions(replay_${name} PRIVATE _GNU_SOURCE)
  add_test(NAME fuzz_replay_${name} COMMAND replay_${name} ${fuzz}/corpus/${name} ${arg_REPLAY})
  set_tests_properties(fuzz_replay_${name} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
  if(NOT CLANG)
    return()
  endif()
  list(TRANSFORM arg_PARTS PREPEND ${PROJECT_SOURCE_DIR}/src/)
  list(TRANSFORM arg_PARTS APPEND .c)
  add_custom_command(OUTPUT fuzz_${name}
    COMMAND ${CLANG} -g -O1 -std=gnu11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
      -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_BINARY_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/integrations
      ${arg_SOURCES} ${arg_PARTS} ${arg_FILES} $<TARGET_FILE:dnnl_tp_static> ${arg_FLAGS} -lm -lpthread -ldl -o fuzz_${name}
    DEPENDS ${arg_SOURCES} ${arg_PARTS} ${arg_FILES} dnnl_tp_static VERBATIM)
  add_custom_target(build_fuzz_${name} DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/fuzz_${name})
  add_test(NAME fuzz_${name} COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DTARGET=build_fuzz_${name}
    -DPROGRAM=${CMAKE_CURRENT_BINARY_DIR}/fuzz_${name} -DCORPUS=${fuzz}/corpus/${name}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/corpus_${name} -DRUNS=5000 -P ${fuzz}/fuzz_run.cmake)
  set_tests_properties(fuzz_${name} PROPERTIES LABELS full TIMEOUT 900)
endfunction()
find_program(CLANG clang)
file(GLOB_RECURSE ops RELATIVE ${PROJECT_SOURCE_DIR}/src CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/exec/ops/*.c)
list(TRANSFORM ops REPLACE "\\.c$" "")
set(graph_parts common/base/arena exec/graph/graph exec/graph/build exec/graph/store exec/graph/region exec/graph/op ${ops})
fuzzer(graph REPLAY ${PROJECT_SOURCE_DIR}/benchdnn/inputs/graph
  PARTS ${graph_parts} exec/text/dot exec/text/file exec/text/data exec/text/lex exec/text/lists exec/text/read exec/text/write)
fuzzer(import_v1 REPLAY random:20000 SOURCES v1_tokens.c
  PARTS ../integrations/switch_merge/import ../integrations/switch_merge/emit ../integrations/switch_merge/gate
    ../integrations/switch_merge/live ../integrations/common/import_memory)

# What is wrong with environment variables is said, in lines of verbose mode (doc/variables.md).
if(TARGET example_matmul)
  foreach(row IN ITEMS "word|the word .dispach. is unknown" "variable|DNNL_TP_NONSENSE means nothing"
      "value|DNNL_TP_MAX_CPU_ISA=AVX22 is ignored: it is none of SSE41, AVX, AVX2, [^\n]*, AVX10_2_ACE"
      "number|DNNL_TP_PRIMITIVE_CACHE_CAPACITY=many is ignored")
    string(REGEX MATCH "^([a-z]+).(.*)" row "${row}")
    add_test(NAME variables_${CMAKE_MATCH_1} COMMAND example_matmul)
    set_tests_properties(variables_${CMAKE_MATCH_1} PROPERTIES LABELS quick TIMEOUT ${quick_timeout}
      PASS_REGULAR_EXPRESSION "dnnl_tp_verbose,v1,error,2,[^\n]*${CMAKE_MATCH_2}" ENVIRONMENT
      "DNNL_TP_VERBOSE=error,dispach;DNNL_TP_NONSENSE=1;DNNL_TP_MAX_CPU_ISA=AVX22;DNNL_TP_PRIMITIVE_CACHE_CAPACITY=many")
  endforeach()
endif()
