# Tests of what is delivered rather than of what it computes: headers, exported symbols, the install tree, the
# configure-time choices, a processor without x86 kernels. Each is a script in tests/package.
set(package_dir ${CMAKE_CURRENT_SOURCE_DIR}/package)
set(package_args
  -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DBINARY_DIR=${PROJECT_BINARY_DIR}
  -DGENERATOR=${CMAKE_GENERATOR} -DC_COMPILER=${CMAKE_C_COMPILER} -DCXX_COMPILER=${CMAKE_CXX_COMPILER}
  -DNM=${CMAKE_NM} -DRUNTIME=${DNNL_CPU_RUNTIME} "-DSANITIZE=${DNNL_TP_SANITIZE}"
  -DSHARED_LIBRARY=$<TARGET_FILE:dnnl_tp_shared> -DSTATIC_LIBRARY=$<TARGET_FILE:dnnl_tp_static>
  -DLIBDIR=${CMAKE_INSTALL_LIBDIR} -DVERSION=${PROJECT_VERSION})

# package_test(NAME LABEL): runs tests/package/NAME.cmake. A script skips by printing "SKIPPED: reason".
function(package_test name label)
  add_test(NAME package_${name} COMMAND ${CMAKE_COMMAND} ${package_args}
    -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/package_${name} -P ${package_dir}/${name}.cmake)
  set_tests_properties(package_${name} PROPERTIES LABELS ${label} TIMEOUT 900 SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endfunction()

package_test(headers quick)
package_test(symbols quick)
package_test(spills quick)
package_test(runtime_refused quick)
package_test(snippets quick)
package_test(install full)
package_test(cross full)
set_tests_properties(package_install package_cross PROPERTIES PROCESSORS 2)

# The C code of the README, compiled as it is printed there by tests/readme/test_pool.c.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
file(READ ${PROJECT_SOURCE_DIR}/README.md readme)
string(FIND "${readme}" "\n```c\n" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "README.md has no C code")
endif()
math(EXPR begin "${begin} + 6")
string(SUBSTRING "${readme}" ${begin} -1 readme)
string(FIND "${readme}" "\n```\n" end)
string(SUBSTRING "${readme}" 0 ${end} readme)
file(CONFIGURE OUTPUT readme/readme_pool.inc CONTENT "${readme}\n" @ONLY)
if(TARGET test_readme_pool)
  target_include_directories(test_readme_pool PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/readme)
endif()

# tests/readme/test_docs.c reads the pages of doc/primitives.
if(TARGET test_readme_docs)
  target_compile_definitions(test_readme_docs PRIVATE DTP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()
