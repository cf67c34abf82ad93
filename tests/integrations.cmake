# Tests of integrations/: each pool that CMake found, through its adapter.
if(TARGET dnnl_tp::session_json)
  add_executable(test_integrations_session_json ${CMAKE_CURRENT_SOURCE_DIR}/integrations/session_json.c)
  target_link_libraries(test_integrations_session_json PRIVATE dnnl_tp_test_support dnnl_tp::static dnnl_tp::session_json
    dnnl_tp_build_flags)
  target_compile_definitions(test_integrations_session_json PRIVATE DTP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME integrations_session_json COMMAND test_integrations_session_json)
  set_tests_properties(integrations_session_json PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endif()
if(NOT TARGET dnnl_tp_hosts)
  return()
endif()
add_executable(test_integrations_adapters ${CMAKE_CURRENT_SOURCE_DIR}/integrations/adapters.c)
target_link_libraries(test_integrations_adapters PRIVATE dnnl_tp_test_support dnnl_tp_hosts dnnl_tp_build_flags)
add_executable(test_integrations_budget ${CMAKE_CURRENT_SOURCE_DIR}/integrations/budget.c)
target_link_libraries(test_integrations_budget PRIVATE dnnl_tp_test_support dnnl_tp_hosts dnnl_tp_build_flags)
find_package(TBB CONFIG QUIET)
get_target_property(host_sources dnnl_tp_hosts SOURCES)
list(APPEND host_sources host_std_thread_clean.c) # another host of host_std_thread.cpp
if(TBB_FOUND)
  list(APPEND host_sources host_tbb_limited.c) # and of host_tbb.cpp
endif()
set(budget_hosts "")
if(DNNL_CPU_RUNTIME STREQUAL "EXT_THREADPOOL")
  list(APPEND budget_hosts builtin)
endif()
foreach(source IN LISTS host_sources)
  if(source MATCHES "host_([a-z_]+)\\.c")
    add_test(NAME integrations_${CMAKE_MATCH_1} COMMAND test_integrations_adapters ${CMAKE_MATCH_1})
    set_tests_properties(integrations_${CMAKE_MATCH_1} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
    # Threads of std_thread_clean wake for calls that were taken back: that is the host's own doing.
    if(NOT CMAKE_MATCH_1 STREQUAL "std_thread_clean")
      list(APPEND budget_hosts ${CMAKE_MATCH_1})
    endif()
  endif()
endforeach()
# Counts the process's running threads: alone on the machine, at full speed.
if(NOT DNNL_TP_SANITIZE)
  foreach(host IN LISTS budget_hosts)
    add_test(NAME budget_${host} COMMAND test_integrations_budget ${host})
    set_tests_properties(budget_${host} PROPERTIES LABELS full TIMEOUT 600 RUN_SERIAL ON)
  endforeach()
endif()

# jax programs that call the library on XLA's own threads; needs scripts/get_jax. Not in sanitized builds: jaxlib is not.
if(NOT DNNL_TP_SANITIZE AND DNNL_CPU_RUNTIME STREQUAL "EXT_THREADPOOL")
  add_test(NAME integrations_jax COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/integrations/jax_test.sh ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER} $<TARGET_FILE:dnnl_tp_static> $<TARGET_FILE:dnnl_tp_pool_check>
    ${CMAKE_CURRENT_BINARY_DIR}/integrations_jax)
  set_tests_properties(integrations_jax PROPERTIES LABELS full TIMEOUT 1800 PROCESSORS 2 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endif()
