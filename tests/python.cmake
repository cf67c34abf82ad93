# The Python package: wheel, installation into a fresh environment, tests there. Needs scripts/get_wheel_tools.
if(TARGET dnnl_tp_onnx AND NOT DNNL_TP_SANITIZE AND DNNL_CPU_RUNTIME STREQUAL "EXT_THREADPOOL")
  add_test(NAME python_package COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/python/package_test.sh ${PROJECT_SOURCE_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/python)
  set_tests_properties(python_package PROPERTIES LABELS full TIMEOUT 2700 COST 15 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endif()
