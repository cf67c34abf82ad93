# Pools and streams with forced preemption, and with one rule of src/threading broken at a time: those builds must be
# caught.
if(DNNL_CPU_RUNTIME STREQUAL "SEQ")
  return()
endif()
# stress(NAME ROUNDS BROKEN_ROUNDS SOURCES parts of src/threading RULES DTP_BREAK_*)
function(stress name rounds broken_rounds)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "SOURCES;RULES")
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/threading/)
  if(DNNL_TP_SANITIZE) # whatever they find in a broken build is no news
    set(arg_RULES)
  endif()
  foreach(rule IN ITEMS "" ${arg_RULES})
    string(TOLOWER "${name}_${rule}" target)
    string(REGEX REPLACE "_$" "" target ${target})
    add_executable(${target} ${CMAKE_CURRENT_SOURCE_DIR}/pools/${name}.c ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE dnnl_tp_test_support dnnl_tp_build_flags Threads::Threads)
    target_compile_definitions(${target} PRIVATE DTP_PREEMPT_FN=stress_preempt)
    if(rule)
      target_compile_definitions(${target} PRIVATE DTP_BREAK_${rule})
      add_test(NAME pools_${target} COMMAND ${target} ${broken_rounds} --broken)
    else()
      add_test(NAME pools_${target} COMMAND ${target} ${rounds})
    endif()
    # Under sanitizers the library is a shared one, and what is compiled here again goes before what it holds.
    set_tests_properties(pools_${target} PROPERTIES LABELS quick TIMEOUT ${quick_timeout}
      ENVIRONMENT ASAN_OPTIONS=detect_odr_violation=0)
  endforeach()
endfunction()
stress(stream_stress 300 2000 SOURCES streams/queue.c streams/queue_events.c streams/queue_submit.c streams/queue_wait.c streams/event.c
  RULES QUEUE_GENERATION QUEUE_CANCEL QUEUE_DUMMY)
if(DNNL_CPU_RUNTIME STREQUAL "EXT_THREADPOOL")
  stress(pool_stress 20 2000 SOURCES loops/shared_loop.c pools/ticket.c pools/fifo.c pools/admission.c pools/lane.c
      pools/builtin_pool.c streams/event.c
    RULES LOOP_CLAIM LOOP_WAIT LOOP_BELL TICKET_END TICKET_CAS LANE_USED LANE_CLOSE SLEEP_LOOK TASK_DRAIN EVENT_WAKE EVENT_OPEN
    EVENT_QUERY)
endif()
