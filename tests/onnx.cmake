# The importer of ONNX models: folders of the standard's tests, hostile files, fuzzing.
if(NOT TARGET dnnl_tp_onnx)
  return()
endif()
add_library(onnx_folders STATIC ${CMAKE_CURRENT_SOURCE_DIR}/onnx/folders.c ${PROJECT_SOURCE_DIR}/examples/onnx_run/npy.c)
target_include_directories(onnx_folders PUBLIC ${PROJECT_SOURCE_DIR}/examples
  PRIVATE $<TARGET_PROPERTY:dnnl_tp_onnx_objects,INCLUDE_DIRECTORIES>)
target_link_libraries(onnx_folders PUBLIC dnnl_tp_onnx dnnl_tp_static dnnl_tp_test_support PRIVATE dnnl_tp_build_flags)
add_executable(onnx_nodes ${CMAKE_CURRENT_SOURCE_DIR}/onnx/nodes.c)
target_link_libraries(onnx_nodes PRIVATE onnx_folders dnnl_tp_build_flags)
target_include_directories(onnx_nodes PRIVATE $<TARGET_PROPERTY:dnnl_tp_onnx_objects,INCLUDE_DIRECTORIES>)
add_executable(onnx_open ${CMAKE_CURRENT_SOURCE_DIR}/onnx/open.c)
target_link_libraries(onnx_open PRIVATE onnx_folders dnnl_tp_build_flags)
target_include_directories(onnx_open PRIVATE $<TARGET_PROPERTY:dnnl_tp_onnx_objects,INCLUDE_DIRECTORIES>)
set(onnx_data /usr/share/libonnx-testdata/data CACHE PATH "Test folders of ONNX (libonnx-testdata)")
set(onnx_page ${PROJECT_SOURCE_DIR}/doc/onnx.md) # tables of what passes
foreach(kind IN ITEMS node pytorch-converted pytorch-operator simple)
  set(page)
  if(kind STREQUAL "node")
    set(page --page ${onnx_page} node)
  endif()
  add_test(NAME onnx_${kind} COMMAND onnx_nodes ${onnx_data}/${kind} ${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_${kind}.txt ${page})
  add_test(NAME onnx_open_${kind} COMMAND onnx_open ${onnx_data}/${kind})
  set_tests_properties(onnx_${kind} onnx_open_${kind} PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_RETURN_CODE 77)
endforeach()
foreach(name IN ITEMS importer check control drawn external labels memory nearest parts patterns session sizes turns)
  add_executable(onnx_${name} ${CMAKE_CURRENT_SOURCE_DIR}/onnx/${name}.c ${CMAKE_CURRENT_SOURCE_DIR}/onnx/writing.c)
  target_link_libraries(onnx_${name} PRIVATE onnx_folders dnnl_tp_build_flags)
  add_test(NAME onnx_${name} COMMAND onnx_${name})
  set_tests_properties(onnx_${name} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endforeach()
target_include_directories(onnx_sizes PRIVATE $<TARGET_PROPERTY:dnnl_tp_onnx_objects,INCLUDE_DIRECTORIES>)

# The corpus: models of the standard's tests that are small and take different ways; fuzz/corpus/onnx.
get_property(onnx_sources GLOBAL PROPERTY dnnl_tp_onnx_sources)
get_target_property(onnx_includes dnnl_tp_onnx_objects INCLUDE_DIRECTORIES)
list(TRANSFORM onnx_includes PREPEND -I)
fuzzer(onnx REPLAY random:20000 SOURCES onnx_mutate.c LIBS dnnl_tp_onnx FILES ${onnx_sources} FLAGS ${onnx_includes} -w -lprotobuf-c)
target_include_directories(replay_onnx PRIVATE $<TARGET_PROPERTY:dnnl_tp_onnx_objects,INCLUDE_DIRECTORIES>)
add_test(NAME fuzz_mutated_onnx COMMAND replay_onnx mutated:300 ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/onnx)
set_tests_properties(fuzz_mutated_onnx PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
add_test(NAME onnx_table COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/onnx_table.cmake)
set_tests_properties(onnx_table PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
if(TARGET onnx_run AND EXISTS ${PROJECT_SOURCE_DIR}/build/peers/bin/python)
  add_test(NAME onnx_minilm COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/minilm.py
    $<TARGET_FILE:onnx_run> ${PROJECT_SOURCE_DIR}/models/all-MiniLM-L6-v2 ${CMAKE_CURRENT_BINARY_DIR}/onnx_minilm)
  set_tests_properties(onnx_minilm PROPERTIES LABELS full TIMEOUT 900 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endif()
if(TARGET onnx_run AND EXISTS ${PROJECT_SOURCE_DIR}/build/peers/bin/python)
  add_test(NAME onnx_networks COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/networks.py
    $<TARGET_FILE:onnx_run> ${CMAKE_CURRENT_BINARY_DIR}/onnx_networks)
  set_tests_properties(onnx_networks PROPERTIES LABELS full TIMEOUT 1800 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  add_test(NAME onnx_models COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/models.py
    $<TARGET_FILE:onnx_run> ${CMAKE_CURRENT_BINARY_DIR}/onnx_models)
  set_tests_properties(onnx_models PROPERTIES LABELS full TIMEOUT 900 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/build/peers/bin/python)
  add_test(NAME onnx_loops COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/loops.py
    $<TARGET_FILE:onnx_nodes> ${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_loops.txt ${CMAKE_CURRENT_BINARY_DIR}/onnx_loops)
  set_tests_properties(onnx_loops PROPERTIES LABELS full TIMEOUT 300 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  add_test(NAME onnx_quantized COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/quantized.py
    $<TARGET_FILE:onnx_nodes> ${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_quantized.txt ${CMAKE_CURRENT_BINARY_DIR}/onnx_quantized)
  set_tests_properties(onnx_quantized PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  add_test(NAME onnx_ml COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/ml.py
    $<TARGET_FILE:onnx_nodes> ${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_ml.txt ${CMAKE_CURRENT_BINARY_DIR}/onnx_ml)
  set_tests_properties(onnx_ml PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  add_test(NAME onnx_f64 COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/f64.py
    $<TARGET_FILE:onnx_nodes> $<TARGET_FILE:onnx_open> ${CMAKE_CURRENT_BINARY_DIR}/onnx_f64)
  set_tests_properties(onnx_f64 PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: "
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  add_test(NAME onnx_narrow COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/narrow.py
    $<TARGET_FILE:onnx_nodes> $<TARGET_FILE:onnx_open> ${CMAKE_CURRENT_BINARY_DIR}/onnx_narrow)
  set_tests_properties(onnx_narrow PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: "
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  add_test(NAME onnx_open_sizes COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/open_sizes.py
    $<TARGET_FILE:onnx_open> ${CMAKE_CURRENT_BINARY_DIR}/onnx_open_sizes)
  set_tests_properties(onnx_open_sizes PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  add_test(NAME onnx_microsoft COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/microsoft.py
    $<TARGET_FILE:onnx_nodes> $<TARGET_FILE:onnx_open> ${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_microsoft.txt
    ${CMAKE_CURRENT_BINARY_DIR}/onnx_microsoft)
  set_tests_properties(onnx_microsoft PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: "
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  add_test(NAME onnx_inner COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/inner.py
    $<TARGET_FILE:onnx_nodes> $<TARGET_FILE:onnx_open> ${CMAKE_CURRENT_BINARY_DIR}/onnx_inner)
  set_tests_properties(onnx_inner PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: "
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  add_test(NAME onnx_optimized COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/optimized.py
    $<TARGET_FILE:onnx_nodes> $<TARGET_FILE:onnx_open> ${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_optimized.txt
    ${CMAKE_CURRENT_BINARY_DIR}/onnx_optimized)
  set_tests_properties(onnx_optimized PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: "
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  add_test(NAME onnx_collected COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/collected.py
    $<TARGET_FILE:onnx_nodes> ${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_collected.txt ${CMAKE_CURRENT_BINARY_DIR}/onnx_collected
    --page ${onnx_page} collected)
  set_tests_properties(onnx_collected PROPERTIES LABELS full TIMEOUT 900 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  add_test(NAME onnx_open_collected COMMAND onnx_open ${CMAKE_CURRENT_BINARY_DIR}/onnx_collected) # what the one before wrote
  set_tests_properties(onnx_open_collected PROPERTIES LABELS full TIMEOUT 900 SKIP_RETURN_CODE 77 DEPENDS onnx_collected)
  set(lists)
  foreach(kind IN ITEMS node simple pytorch-converted pytorch-operator)
    list(APPEND lists ${onnx_data}/${kind}=${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_${kind}.txt)
  endforeach()
  list(APPEND lists ${CMAKE_CURRENT_BINARY_DIR}/onnx_collected=${CMAKE_CURRENT_SOURCE_DIR}/onnx/refused_collected.txt)
  list(JOIN lists "," lists)
  add_test(NAME onnx_between COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python ${CMAKE_CURRENT_SOURCE_DIR}/onnx/between.py
    $<TARGET_FILE:onnx_nodes> ${CMAKE_CURRENT_BINARY_DIR}/onnx_between ${lists})
  set_tests_properties(onnx_between PROPERTIES LABELS full TIMEOUT 900 SKIP_REGULAR_EXPRESSION "SKIPPED: " DEPENDS onnx_collected
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  # With the package that python_package installed; seeds that go on with each commit.
  add_test(NAME onnx_random COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python
    ${CMAKE_CURRENT_SOURCE_DIR}/onnx/random/random_graphs.py turn 500 --isas ,AVX2)
  set_tests_properties(onnx_random PROPERTIES LABELS full TIMEOUT 600 SKIP_REGULAR_EXPRESSION "SKIPPED: " DEPENDS python_package
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;PACKAGE=${CMAKE_CURRENT_BINARY_DIR}/python/venv/lib/python3*/site-packages")
  add_test(NAME onnx_random_open COMMAND ${PROJECT_SOURCE_DIR}/build/peers/bin/python
    ${CMAKE_CURRENT_SOURCE_DIR}/onnx/random/random_graphs.py turn 500 --open --isas ,AVX2)
  set_tests_properties(onnx_random_open PROPERTIES LABELS full TIMEOUT 600 SKIP_REGULAR_EXPRESSION "SKIPPED: " DEPENDS python_package
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;PACKAGE=${CMAKE_CURRENT_BINARY_DIR}/python/venv/lib/python3*/site-packages")
endif()
