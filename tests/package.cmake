# Tests of what is delivered rather than of what it computes: headers, exported symbols, the install tree, the
# configure-time choices, a processor without x86 kernels. Each is a script in tests/package.
set(package_dir ${CMAKE_CURRENT_SOURCE_DIR}/package)
set(package_args
  -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DBINARY_DIR=${PROJECT_BINARY_DIR}
  -DGENERATOR=${CMAKE_GENERATOR} -DC_COMPILER=${CMAKE_C_COMPILER} -DCXX_COMPILER=${CMAKE_CXX_COMPILER}
  -DNM=${CMAKE_NM} -DRUNTIME=${DNNL_CPU_RUNTIME} -DWITH_CUDA=${DNNL_TP_WITH_CUDA} "-DSANITIZE=${DNNL_TP_SANITIZE}"
  -DSHARED_LIBRARY=$<TARGET_FILE:dnnl_tp_shared> -DSTATIC_LIBRARY=$<TARGET_FILE:dnnl_tp_static>
  -DPOOL_CHECK_LIBRARY=$<TARGET_FILE:dnnl_tp_pool_check> -DSWITCH_MERGE_LIBRARY=$<TARGET_FILE:dnnl_tp_switch_merge>
  "$<$<TARGET_EXISTS:dnnl_tp_onnx>:-DONNX_LIBRARY=$<TARGET_FILE:$<IF:$<TARGET_EXISTS:dnnl_tp_onnx>,dnnl_tp_onnx,dnnl_tp_static>>>"
  "$<$<TARGET_EXISTS:dnnl_tp_onnx>:-DONNX_SHARED=$<TARGET_FILE:$<IF:$<TARGET_EXISTS:dnnl_tp_onnx>,dnnl_tp_onnx_shared,dnnl_tp_shared>>>"
  -DLIBDIR=${CMAKE_INSTALL_LIBDIR} -DVERSION=${PROJECT_VERSION} -DOBJECTS=${CMAKE_CURRENT_BINARY_DIR}/package_objects.txt)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/package_objects.txt
  CONTENT "$<JOIN:$<TARGET_OBJECTS:dnnl_tp_objects>,\n>\n")

# package_test(NAME LABEL): runs tests/package/NAME.cmake. A script skips by printing "SKIPPED: reason".
function(package_test name label)
  add_test(NAME package_${name} COMMAND ${CMAKE_COMMAND} ${package_args}
    -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/package_${name} -P ${package_dir}/${name}.cmake)
  set_tests_properties(package_${name} PROPERTIES LABELS ${label} TIMEOUT 2700 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endfunction()

# Bugs as patches (doc/howto/add_mutants.md): all still apply.
add_test(NAME mutants_apply COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mutants/run --check)
set_tests_properties(mutants_apply PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
# What a program on the CPU has of the library in memory. Builds with sanitizers are larger.
if(NOT DNNL_TP_SANITIZE)
  add_executable(package_mapped ${package_dir}/mapped.c)
  target_link_libraries(package_mapped PRIVATE dnnl_tp::shared dnnl_tp_build_flags)
  target_compile_definitions(package_mapped PRIVATE WITH_CUDA=$<BOOL:${DNNL_TP_WITH_CUDA}>
    RELEASE=$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>)
  add_test(NAME package_mapped COMMAND package_mapped)
  set_tests_properties(package_mapped PROPERTIES LABELS quick TIMEOUT ${quick_timeout} SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endif()
package_test(headers quick)
package_test(symbols quick)
package_test(wrapped quick)
package_test(handles quick)
package_test(spills quick)
package_test(gpu_spills quick)
package_test(runtime quick)
package_test(snippets quick)
package_test(rooms quick)
package_test(operators quick)
package_test(install full)
package_test(deb full)
package_test(cross full)
set_tests_properties(package_install package_deb package_cross PROPERTIES COST 30)

add_test(NAME package_results COMMAND python3 ${PROJECT_SOURCE_DIR}/scripts/results check)
set_tests_properties(package_results PROPERTIES LABELS quick)
add_test(NAME package_names COMMAND python3 ${package_dir}/names.py ${PROJECT_SOURCE_DIR})
add_test(NAME package_format COMMAND ${PROJECT_SOURCE_DIR}/scripts/format --check)
set_tests_properties(package_names package_format PROPERTIES LABELS quick SKIP_REGULAR_EXPRESSION "SKIPPED: ")
add_test(NAME package_hooks COMMAND python3 ${package_dir}/hooks.py ${PROJECT_SOURCE_DIR})
set_tests_properties(package_hooks PROPERTIES LABELS quick)

# doc_code(PAGE FILE): the first block of C of a page, for tests/readme to compile as it is printed there.
function(doc_code page file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${page})
  file(READ ${PROJECT_SOURCE_DIR}/${page} text)
  string(FIND "${text}" "\n```c\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${page} has no C code")
  endif()
  math(EXPR begin "${begin} + 6")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\n```\n" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(CONFIGURE OUTPUT readme/${file} CONTENT "${text}\n" @ONLY)
endfunction()
doc_code(README.md readme_pool.inc)
doc_code(doc/sessions.md sessions.inc)
doc_code(doc/traces.md traces.inc)
doc_code(doc/pool_check.md pool_check.inc)
foreach(target IN ITEMS test_readme_pool test_readme_pages)
  if(TARGET ${target})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/readme)
  endif()
endforeach()

# These read pages of doc/ when they run.
foreach(target IN ITEMS test_readme_docs test_readme_pages)
  if(TARGET ${target})
    target_compile_definitions(${target} PRIVATE DTP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
endforeach()
