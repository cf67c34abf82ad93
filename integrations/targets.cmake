# CMake targets of the adapters, the same in this tree and in an installed one:
#   target_link_libraries(program PRIVATE dnnl_tp::dnnl_tp dnnl_tp::tbb)
# A target brings the include folder (#include "tbb/dnnl_tp_tbb.hpp") and the pool's own library, and leaves the choice
# between dnnl_tp::shared and dnnl_tp::static to the program. find_package(dnnl_tp COMPONENTS tbb eigen) makes those
# that are asked for.
set(DNNL_TP_INTEGRATIONS std_thread tbb eigen openmp session_json)

# dnnl_tp_integration(NAME FOLDER RESULT): defines dnnl_tp::NAME of the adapters in FOLDER; RESULT: empty, or what is
# missing. The caller has looked for packages: TBB, Eigen3, OpenMP, Threads; cJSON is looked for here.
function(dnnl_tp_integration name folder result)
  set(needs_std_thread Threads::Threads)
  set(needs_tbb TBB::tbb)
  set(needs_eigen Eigen3::Eigen)
  set(needs_openmp OpenMP::OpenMP_CXX)
  set(needs_session_json PkgConfig::DNNL_TP_CJSON)
  if(name STREQUAL "session_json")
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(DNNL_TP_CJSON QUIET IMPORTED_TARGET GLOBAL libcjson)
    endif()
  endif()
  if(NOT TARGET ${needs_${name}})
    set(${result} ${needs_${name}} PARENT_SCOPE)
    return()
  endif()
  set(${result} "" PARENT_SCOPE)
  if(TARGET dnnl_tp::${name})
    return()
  endif()
  add_library(dnnl_tp::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(dnnl_tp::${name} INTERFACE ${folder})
  target_link_libraries(dnnl_tp::${name} INTERFACE ${needs_${name}})
  if(name STREQUAL "session_json")
    target_sources(dnnl_tp::${name} INTERFACE ${folder}/session_json/session_json.c)
  endif()
endfunction()
