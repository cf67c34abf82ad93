# Exhaustive checks of the product's state machines (doc/model_checks.md): each compiles the product's source
# over tests/model/under, whose <stdatomic.h> makes every atomic operation a step of the checker, and, once
# more per rule, with that rule broken (DTP_BREAK_<rule>): those builds must be caught.
# The sources stand alone, so they need no library; fibers and sanitizers do not go together. The other
# runtimes have no built-in pool and nothing of their own to check here.
if(DNNL_TP_SANITIZE OR NOT DNNL_CPU_RUNTIME STREQUAL "EXT_THREADPOOL")
  return()
endif()
function(model_check name label)
  set(sources ${CMAKE_CURRENT_LIST_DIR}/model/check_${name}.c ${CMAKE_CURRENT_LIST_DIR}/model/mc.c
    ${CMAKE_CURRENT_LIST_DIR}/model/mc_calls.c ${CMAKE_CURRENT_LIST_DIR}/model/mc_steps.c)
  foreach(rule IN ITEMS "" ${ARGN})
    set(target model_${name})
    if(rule)
      string(TOLOWER "model_${name}_break_${rule}" target)
    endif()
    add_executable(${target} ${sources})
    target_include_directories(${target} BEFORE PRIVATE ${CMAKE_CURRENT_LIST_DIR}/model/under)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR}
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
    target_link_libraries(${target} PRIVATE dnnl_tp_build_flags)
    # DTP_X64=0: no instructions of one processor. The checker's jumps between stacks are not for _FORTIFY_SOURCE.
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE DTP_X64=0)
    target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE)
    if(rule)
      target_compile_definitions(${target} PRIVATE DTP_BREAK_${rule})
      add_test(NAME ${target} COMMAND ${target} --broken)
    else()
      add_test(NAME ${target} COMMAND ${target} --bounded)
    endif()
    set_tests_properties(${target} PROPERTIES LABELS ${label} TIMEOUT 1800)
  endforeach()
endfunction()
model_check(itself quick)
model_check(shared_loop full LOOP_CLAIM LOOP_EPOCH LOOP_WAIT LOOP_BELL LOOP_LEAVE RUN_EPOCH)
model_check(merge quick MERGE_READY)
model_check(join quick ORDER_JOIN)
model_check(queue full QUEUE_GENERATION QUEUE_CANCEL QUEUE_DUMMY QUEUE_BELL QUEUE_AGAIN TICKET_TAKE_OVER
  QUEUE_PASS_ON QUEUE_SKIP QUEUE_LATE_HINT QUEUE_SHARE QUEUE_REST QUEUE_ENDABLE QUEUE_ORDER QUEUE_HELD)
model_check(seats quick SEATS_LOOK SEATS_LOCK)
model_check(sleep full SLEEP_LOOK SLEEP_COUNT HELPERS_LOOK TASK_DRAIN)
model_check(deque full W1 FLOW_LENT DEQUE_ROOM DEQUE_BOTTOM DEQUE_TAKE)
model_check(ticket full TICKET_END TICKET_LEND TICKET_CAS TICKET_HAND_OVER TICKET_WITHDRAW PENDING_SETTLE)
model_check(lane full LANE_USED LANE_CLOSE LANE_WATCH LANE_TICKET)
model_check(blocking full PENDING_LAST_ACCESS)
model_check(pending full PENDING_LOST PENDING_LAST_ACCESS PENDING_REST WAIT_CANCEL)
model_check(event full EVENT_WAKE EVENT_OPEN EVENT_QUERY EVENT_DUE)
model_check(host_call full RUN_EPOCH HOST_CALL_TEAM HOST_CALL_QUIESCE HOST_CALL_LIFE HOST_CALL_RUNNER HOST_CALL_PROMISE HOST_CALL_MAIN
  HOST_CALL_BOUNCE HOST_CALL_TEAM_BELL HELPERS_TICKET)
model_check(record full RECORD_RELEASE RECORD_BELL)
model_check(crew full CREW_EPOCH CREW_MOST CREW_AGAIN CREW_CLOSE CREW_LATE_WANT LOOP_WAIT LOOP_BELL HELPERS_BUSY HELPERS_HAND_ON)
