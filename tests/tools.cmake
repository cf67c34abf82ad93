# Fuzzer of graph files: its corpus is replayed as a test; with clang a short run of the real one is a test of label
# full (`ninja build_fuzz_graph` makes the program).
set(fuzz ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
add_executable(replay_graph ${fuzz}/fuzz_replay.c ${fuzz}/fuzz_graph.c)
target_link_libraries(replay_graph PRIVATE dnnl_tp_static dnnl_tp_build_flags Threads::Threads m)
target_compile_definitions(replay_graph PRIVATE _GNU_SOURCE)
add_test(NAME fuzz_replay_graph COMMAND replay_graph ${fuzz}/corpus/graph ${PROJECT_SOURCE_DIR}/benchdnn/inputs/graph)
set_tests_properties(fuzz_replay_graph PROPERTIES LABELS quick TIMEOUT 120)
find_program(CLANG clang)
if(CLANG)
  set(parts arena graph graph_build graph_region graph_dot graph_file graph_text_data graph_text_lex graph_text_read
    graph_text_write infer op)
  list(TRANSFORM parts PREPEND ${PROJECT_SOURCE_DIR}/src/exec/)
  list(TRANSFORM parts APPEND .c)
  add_custom_command(OUTPUT fuzz_graph
    COMMAND ${CLANG} -g -O1 -std=gnu11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
      -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_BINARY_DIR}/include -I${PROJECT_SOURCE_DIR}/src
      ${fuzz}/fuzz_graph.c ${parts} $<TARGET_FILE:dnnl_tp_static> -lm -lpthread -ldl -o fuzz_graph
    DEPENDS ${fuzz}/fuzz_graph.c ${parts} dnnl_tp_static VERBATIM)
  add_custom_target(build_fuzz_graph DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/fuzz_graph)
  add_test(NAME fuzz_graph COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DTARGET=build_fuzz_graph
    -DPROGRAM=${CMAKE_CURRENT_BINARY_DIR}/fuzz_graph -DCORPUS=${fuzz}/corpus/graph
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/corpus_graph -DSECONDS=20 -P ${fuzz}/fuzz_run.cmake)
  set_tests_properties(fuzz_graph PROPERTIES LABELS full TIMEOUT 300)
endif()
