# Installs the build, moves the tree, and builds and runs an outside project against it: through find_package
# (shared and static, C and C++) and through pkg-config.
cmake_minimum_required(VERSION 3.25)
if(SANITIZE)
  message("SKIPPED: a sanitized library is not what is installed")
  return()
endif()
file(REMOVE_RECURSE ${WORK_DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

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
run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install -B ${WORK_DIR}/consumer -G ${GENERATOR}
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_PREFIX_PATH=${tree}
  -DEXPECTED_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/consumer)
foreach(program IN ITEMS c_default c_static cxx_shared cxx_static)
  run(${WORK_DIR}/consumer/${program})
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
set(ENV{LD_LIBRARY_PATH})
run(${PKG_CONFIG} --static --cflags --libs dnnl_tp)
string(REPLACE "-ldnnl_tp" "-l:libdnnl_tp.a" output "${output}")
separate_arguments(flags UNIX_COMMAND "${output}")
run(${C_COMPILER} -std=c11 ${SOURCE_DIR}/tests/install/consumer.c -o ${WORK_DIR}/pc_static ${flags})
run(${WORK_DIR}/pc_static)
