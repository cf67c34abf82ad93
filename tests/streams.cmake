# Streams with forced preemption, and with one rule of src/threading/queue.h broken at a time: those builds must be
# caught.
if(DNNL_CPU_RUNTIME STREQUAL "SEQ")
  return()
endif()
foreach(rule IN ITEMS "" QUEUE_GENERATION QUEUE_CANCEL QUEUE_DUMMY)
  string(TOLOWER "stream_stress_${rule}" target)
  string(REGEX REPLACE "_$" "" target ${target})
  add_executable(${target} ${CMAKE_CURRENT_LIST_DIR}/pools/stream_stress.c
    ${PROJECT_SOURCE_DIR}/src/threading/queue.c ${PROJECT_SOURCE_DIR}/src/threading/queue_wait.c
    ${PROJECT_SOURCE_DIR}/src/threading/event.c)
  target_link_libraries(${target} PRIVATE dnnl_tp_test_support dnnl_tp_build_flags Threads::Threads)
  target_compile_definitions(${target} PRIVATE DTP_JOLT_FN=stream_jolt)
  if(rule)
    target_compile_definitions(${target} PRIVATE DTP_BREAK_${rule})
    # A broken queue is not run under sanitizers: whatever they find is no news.
    if(NOT DNNL_TP_SANITIZE)
      add_test(NAME pools_${target} COMMAND ${target} 2000 --broken)
      set_tests_properties(pools_${target} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
    endif()
  else()
    add_test(NAME pools_${target} COMMAND ${target} 300)
    set_tests_properties(pools_${target} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
  endif()
endforeach()
