# The dataflow engine alone: its objects, those of threads and of common/base, and nothing else of the library. A tensor,
# an operator or an executable in it does not link. Three files of threads are not its own: they hand what they are given
# on to engines and primitives.
set(dataflow_alone "/(exec/dataflow|threading|common/base)/")
set(dataflow_not_alone "/threading/streams/(stream_pool|sync_devices|timed_run)\\.")
add_library(dnnl_tp_dataflow_alone STATIC
  $<FILTER:$<FILTER:$<TARGET_OBJECTS:dnnl_tp_objects>,INCLUDE,${dataflow_alone}>,EXCLUDE,${dataflow_not_alone}>)
set(dataflow_language C)
if(DNNL_CPU_RUNTIME STREQUAL "TBB")
  set(dataflow_language CXX)
endif()
set_target_properties(dnnl_tp_dataflow_alone PROPERTIES LINKER_LANGUAGE ${dataflow_language})
add_dependencies(dnnl_tp_dataflow_alone dnnl_tp_objects)
target_include_directories(dnnl_tp_dataflow_alone PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
  ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(dnnl_tp_dataflow_alone PUBLIC _GNU_SOURCE DTP_X64=${DNNL_TP_X64})
target_link_libraries(dnnl_tp_dataflow_alone PUBLIC Threads::Threads m ${DNNL_TP_RUNTIME_LIBRARY})

file(GLOB dataflow_programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/support/dataflow_program*.c)
add_library(dnnl_tp_dataflow_programs STATIC ${dataflow_programs} ${CMAKE_CURRENT_LIST_DIR}/support/hostile_pools.c
  ${CMAKE_CURRENT_LIST_DIR}/support/watchdog.c)
target_link_libraries(dnnl_tp_dataflow_programs PUBLIC
  $<LINK_LIBRARY:WHOLE_ARCHIVE,dnnl_tp_dataflow_alone> # also what the tests never call
  PRIVATE dnnl_tp_build_flags)
set(dataflow_tests dataflow)
if(NOT DNNL_CPU_RUNTIME STREQUAL "SEQ") # which refuses pools
  list(APPEND dataflow_tests dataflow_pools)
endif()
foreach(name IN LISTS dataflow_tests)
  add_executable(test_exec_${name} ${CMAKE_CURRENT_LIST_DIR}/exec/dataflow/test_${name}.c)
  target_link_libraries(test_exec_${name} PRIVATE dnnl_tp_dataflow_programs PkgConfig::CMOCKA dnnl_tp_build_flags)
  add_test(NAME exec_${name} COMMAND test_exec_${name})
  set_tests_properties(exec_${name} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endforeach()

# The dataflow engine with forced preemption, and with one rule broken at a time: those builds must be caught.
if(DNNL_CPU_RUNTIME STREQUAL "SEQ")
  return()
endif()
file(GLOB_RECURSE flow_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/exec/dataflow/*.c)
list(APPEND flow_sources ${PROJECT_SOURCE_DIR}/src/threading/loops/crew.c ${dataflow_programs}
  ${CMAKE_CURRENT_LIST_DIR}/support/watchdog.c ${CMAKE_CURRENT_LIST_DIR}/exec/dataflow/dataflow_stress.c)
set(rules 9_6A 9_6C TOGETHER LATER)
set(seconds 4)
if(DNNL_TP_SANITIZE) # whatever they find in a broken engine is no news
  set(rules)
  set(seconds 8)
endif()
foreach(rule IN ITEMS "" ${rules})
  string(TOLOWER "dataflow_stress_${rule}" target)
  string(REGEX REPLACE "_$" "" target ${target})
  add_executable(${target} ${flow_sources})
  target_link_libraries(${target} PRIVATE dnnl_tp_dataflow_alone dnnl_tp_build_flags)
  target_compile_definitions(${target} PRIVATE DTP_PREEMPT_FN=dataflow_preempt DTP_DATAFLOW_COSTLY_NS=100
    DTP_DATAFLOW_LATER_NS=1000000)
  if(rule)
    target_compile_definitions(${target} PRIVATE DTP_BREAK_${rule})
    add_test(NAME exec_${target} COMMAND ${target} --broken 200000 1 10)
    set_tests_properties(exec_${target} PROPERTIES LABELS full TIMEOUT 1800)
  else()
    add_test(NAME exec_${target} COMMAND ${target} 20000 1 ${seconds})
    set_tests_properties(exec_${target} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
  endif()
endforeach()
# The same with small crews that mark who has given tasks away, as large ones do.
add_executable(dataflow_stress_marked ${flow_sources})
target_link_libraries(dataflow_stress_marked PRIVATE dnnl_tp_dataflow_alone dnnl_tp_build_flags)
target_compile_definitions(dataflow_stress_marked PRIVATE DTP_PREEMPT_FN=dataflow_preempt DTP_DATAFLOW_COSTLY_NS=100
  DTP_DATAFLOW_FEW_QUEUES=1)
add_test(NAME exec_dataflow_stress_marked COMMAND dataflow_stress_marked 20000 3 ${seconds})
set_tests_properties(exec_dataflow_stress_marked PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
# The same under whole graphs; with a count, a seed and seconds it is the soak (doc/model_checks.md).
set(program_sources ${flow_sources} ${CMAKE_CURRENT_LIST_DIR}/support/program.c
  ${CMAKE_CURRENT_LIST_DIR}/exec/run/program_stress.c)
list(FILTER program_sources EXCLUDE REGEX "/support/dataflow_program|/dataflow_stress.c$")
add_executable(program_stress ${program_sources})
target_link_libraries(program_stress PRIVATE dnnl_tp_static dnnl_tp_build_flags Threads::Threads)
target_include_directories(program_stress PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(program_stress PRIVATE _GNU_SOURCE DTP_X64=${DNNL_TP_X64} DTP_PREEMPT_FN=dataflow_preempt)
add_test(NAME exec_program_stress COMMAND program_stress 3000 1 5)
set_tests_properties(exec_program_stress PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
add_executable(dataflow_bench ${CMAKE_CURRENT_LIST_DIR}/exec/dataflow/dataflow_bench.c)
target_link_libraries(dataflow_bench PRIVATE dnnl_tp_dataflow_alone dnnl_tp_build_flags)
