# Headers under the paths that a program for oneDNN has after the renaming of doc/porting.md: oneapi/dnnl_tp/dnnl_tp.hpp
# and dnnl_tp.hpp. Each includes the header of dnnl_tp that it stands for.
set(onednn_paths_dir ${PROJECT_BINARY_DIR}/include)
foreach(name IN ITEMS .h .hpp _common.h _common.hpp _config.h _debug.h _threadpool.h _threadpool.hpp _threadpool_iface.hpp
    _types.h _version.h)
  set(target dnnl_tp${name})
  if(name MATCHES "_(common|debug)(\\..*)")   # oneDNN's parts; here the whole has them
    set(target dnnl_tp${CMAKE_MATCH_2})
  endif()
  foreach(place IN ITEMS oneapi/dnnl_tp/dnnl_tp${name} dnnl_tp${name})
    file(CONFIGURE OUTPUT ${onednn_paths_dir}/${place} @ONLY
      CONTENT "/* Under the path of oneDNN's header: doc/porting.md. */\n#include \"dnnl_tp/${target}\"\n")
    get_filename_component(folder ${place} DIRECTORY)
    install(FILES ${onednn_paths_dir}/${place} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT dev)
  endforeach()
endforeach()
