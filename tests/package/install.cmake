# Installs the build, moves the tree, and builds and runs an outside project against it: through find_package
# (shared and static, C and C++) and through pkg-config.
cmake_minimum_required(VERSION 3.25)
if(SANITIZE)
  message("SKIPPED: a sanitized library is not what is installed")
  return()
endif()
file(REMOVE_RECURSE ${WORK_DIR})
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${WORK_DIR}/staged)
file(RENAME ${WORK_DIR}/staged ${WORK_DIR}/tree)
set(tree ${WORK_DIR}/tree)

# The soname, and the links that lead to the file.
find_program(READELF NAMES readelf REQUIRED)
run(${READELF} -d ${tree}/${LIBDIR}/libdnnl_tp.so)
if(NOT output MATCHES "SONAME[^\n]*\\[(libdnnl_tp\\.so\\.[0-9.]+)\\]" OR NOT EXISTS ${tree}/${LIBDIR}/${CMAKE_MATCH_1})
  message(FATAL_ERROR "no soname, or no file of that name:\n${output}")
endif()
if(output MATCHES "RPATH|RUNPATH")
  message(FATAL_ERROR "the installed library has a run path:\n${output}")
endif()

# find_package.
run_consumer(${WORK_DIR}/consumer ${tree})

# The documents: pages whose links between each other hold, and examples that are a project of their own.
file(GLOB_RECURSE pages ${tree}/share/doc/dnnl_tp/*.md)
list(LENGTH pages count)
if(count LESS 30 OR NOT EXISTS ${tree}/share/doc/dnnl_tp/doc/index.md OR NOT EXISTS ${tree}/share/doc/dnnl_tp/CHANGELOG.md)
  message(FATAL_ERROR "only ${count} pages are installed")
endif()
foreach(page IN LISTS pages)
  file(READ ${page} text)
  get_filename_component(folder ${page} DIRECTORY)
  string(REGEX REPLACE "[];[]" "@" text "${text}") # brackets and semicolons mean something in lists
  string(REGEX MATCHALL "@\\([a-zA-Z0-9_./-]+\\.md" links "${text}")
  foreach(link IN LISTS links)
    string(SUBSTRING "${link}" 2 -1 link)
    if(NOT EXISTS ${folder}/${link})
      message(FATAL_ERROR "${page} points to ${link}, which is not installed")
    endif()
  endforeach()
endforeach()
run(${CMAKE_COMMAND} -S ${tree}/share/doc/dnnl_tp/examples -B ${WORK_DIR}/examples -G ${GENERATOR}
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_PREFIX_PATH=${tree})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/examples)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK_DIR}/examples --output-on-failure --no-tests=error)
if(RUNTIME STREQUAL "EXT_THREADPOOL")
  run(${tree}/bin/pool_check --version)
  if(NOT output MATCHES "dnnl_tp ${VERSION}")
    message(FATAL_ERROR "pool_check --version: ${output}")
  endif()
  run(${tree}/bin/pool_check ${WORK_DIR}/examples/pool_check/libsample_pool.so --threads=2)
endif()

# A program for oneDNN, renamed, finds its headers.
foreach(header IN ITEMS oneapi/dnnl_tp/dnnl_tp.hpp dnnl_tp.hpp oneapi/dnnl_tp/dnnl_tp_threadpool.hpp dnnl_tp_debug.h)
  file(WRITE ${WORK_DIR}/renamed.cpp "#include \"${header}\"\n")
  run(${CXX_COMPILER} -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I${tree}/include ${WORK_DIR}/renamed.cpp)
endforeach()

# One that is not renamed needs one folder and no other, in C and in C++.
foreach(header IN ITEMS oneapi/dnnl/dnnl.h dnnl.h oneapi/dnnl/dnnl_config.h oneapi/dnnl/dnnl_threadpool.h)
  file(WRITE ${WORK_DIR}/unchanged.c "#include \"${header}\"\nint main(void) { return DNNL_RUNTIME_THREADPOOL != 8u; }\n")
  run(${C_COMPILER} -std=c11 -Wall -Wextra -Werror -fsyntax-only -I${tree}/include/dnnl_tp/compat ${WORK_DIR}/unchanged.c)
endforeach()
foreach(header IN ITEMS oneapi/dnnl/dnnl.hpp dnnl.hpp oneapi/dnnl/dnnl_threadpool.hpp dnnl_threadpool.hpp)
  file(WRITE ${WORK_DIR}/unchanged.cpp "#include \"${header}\"\nnamespace dnnl { using mine = memory::desc; }\n")
  run(${CXX_COMPILER} -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I${tree}/include/dnnl_tp/compat
    ${WORK_DIR}/unchanged.cpp)
endforeach()

# The adapters, as source.
foreach(header IN ITEMS std_thread/dnnl_tp_std_thread.hpp common/dnnl_tp_run_helpers.hpp session_json/dnnl_tp_session_json.h)
  file(WRITE ${WORK_DIR}/adapter.cpp "#include <${header}>\n")
  run(${CXX_COMPILER} -std=c++17 -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -I${tree}/include
    -I${tree}/share/dnnl_tp/integrations ${WORK_DIR}/adapter.cpp)
endforeach()
if(EXISTS ${tree}/share/dnnl_tp/integrations/hosts)
  message(FATAL_ERROR "helpers of tests are installed")
endif()

# A version that does not exist is refused.
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install -B ${WORK_DIR}/newer -G ${GENERATOR}
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_PREFIX_PATH=${tree}
    -DEXPECTED_VERSION=99.0
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "find_package(dnnl_tp 99.0) succeeded")
endif()

# pkg-config.
find_program(PKG_CONFIG pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${tree}/${LIBDIR}/pkgconfig)
run(${PKG_CONFIG} --modversion dnnl_tp)
string(STRIP "${output}" version)
if(NOT version STREQUAL VERSION)
  message(FATAL_ERROR "pkg-config says version ${version}, not ${VERSION}")
endif()
run(${PKG_CONFIG} --cflags --libs dnnl_tp)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${C_COMPILER} -std=c11 -Wall -Wextra -Werror ${SOURCE_DIR}/tests/install/consumer.c -o ${WORK_DIR}/pc_shared ${flags})
run(${CXX_COMPILER} -std=c++17 -Wall -Wextra -Werror ${SOURCE_DIR}/tests/install/consumer.cpp -o ${WORK_DIR}/pc_shared_cxx
  ${flags})
set(ENV{LD_LIBRARY_PATH} ${tree}/${LIBDIR})
run(${WORK_DIR}/pc_shared)
run(${WORK_DIR}/pc_shared_cxx)
run(${PKG_CONFIG} --cflags --libs dnnl_tp_pool_check)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${C_COMPILER} -std=c11 -Wall -Wextra -Werror ${SOURCE_DIR}/tests/install/check_pool.c -o ${WORK_DIR}/pc_check ${flags})
run(${WORK_DIR}/pc_check)
run(${PKG_CONFIG} --cflags --libs dnnl_tp_switch_merge)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CXX_COMPILER} -std=c++17 -Wall -Wextra -Werror ${SOURCE_DIR}/tests/install/import_graph.cpp -o ${WORK_DIR}/pc_import
  ${flags})
run(${WORK_DIR}/pc_import)
if(EXISTS ${tree}/${LIBDIR}/pkgconfig/dnnl_tp_onnx.pc)
  run(${PKG_CONFIG} --cflags --libs dnnl_tp_onnx)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${C_COMPILER} -std=c11 -Wall -Wextra -Werror ${SOURCE_DIR}/tests/install/open_model.c -o ${WORK_DIR}/pc_onnx ${flags})
  run(${WORK_DIR}/pc_onnx)
endif()
set(ENV{LD_LIBRARY_PATH})
run(${PKG_CONFIG} --static --cflags --libs dnnl_tp)
string(REPLACE "-ldnnl_tp" "-l:libdnnl_tp.a" output "${output}")
separate_arguments(flags UNIX_COMMAND "${output}")
run(${C_COMPILER} -std=c11 ${SOURCE_DIR}/tests/install/consumer.c -o ${WORK_DIR}/pc_static ${flags})
run(${WORK_DIR}/pc_static)
