# Headers for programs that were written for oneDNN (doc/porting.md). Renamed ones find oneapi/dnnl_tp/dnnl_tp.hpp and
# dnnl_tp.hpp beside the library's own folder. Unchanged ones need one more folder, include/dnnl_tp/compat, alone or with
# the others: oneapi/dnnl/dnnl.hpp and dnnl.hpp include the library's header and the names dnnl_* and DNNL_* as macros,
# which are read from the library's headers, so that none is missing.
file(GLOB onednn_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/dnnl_tp/*.h
  ${PROJECT_SOURCE_DIR}/include/dnnl_tp/*.hpp)
file(GLOB onednn_generated ${PROJECT_BINARY_DIR}/include/dnnl_tp/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${onednn_sources})
set(onednn_headers .h .hpp _common.h _common.hpp _common_types.h _config.h _debug.h _threadpool.h _threadpool.hpp
  _threadpool_iface.hpp _types.h _version.h _version_hash.h)

# onednn_names(VARIABLE): the names in the code of the headers, as macros.
function(onednn_names out)
  set(names)
  foreach(header IN LISTS onednn_sources onednn_generated)
    file(READ ${header} text)
    string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
    string(REGEX MATCHALL "(const_)?(dnnl|DNNL)_(tp|TP)_[A-Za-z0-9_]+" found "${text}")
    list(APPEND names ${found})
  endforeach()
  list(FILTER names EXCLUDE REGEX "_(H|HPP|h|hpp|ENABLE_EXCEPTIONS)$")
  list(SORT names)
  list(REMOVE_DUPLICATES names)
  set(text)
  foreach(name IN LISTS names)
    string(REGEX REPLACE "(dnnl|DNNL)_(tp|TP)_" "\\1_" short ${name})
    string(APPEND text "#define ${short} ${name}\n")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# onednn_header(FILE TEXT): writes a header with that text.
function(onednn_header file text)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "/* For programs written for oneDNN: doc/porting.md. */\n${text}\n")
endfunction()

# onednn_compat(FOLDER SOURCES GENERATED): fills a folder; the headers of the library lie in the other two, as its headers
# see them.
function(onednn_compat folder sources generated)
  set(guard "#ifndef ONEAPI_DNNL_DNNL_NAMES_H\n#define ONEAPI_DNNL_DNNL_NAMES_H")
  # What a program may set before it includes a header.
  string(APPEND guard "\n#ifdef DNNL_ENABLE_EXCEPTIONS\n"
    "#define DNNL_TP_ENABLE_EXCEPTIONS DNNL_ENABLE_EXCEPTIONS\n#endif")
  onednn_names(names)
  onednn_header(${folder}/oneapi/dnnl/dnnl_names.h
    "${guard}\n#ifdef __cplusplus\n#define dnnl dnnl_tp\n#endif\n${names}#endif")
  foreach(name IN LISTS onednn_headers)
    onednn_target(target ${name})
    onednn_header(${folder}/oneapi/dnnl/dnnl${name} "#include \"dnnl_names.h\"\n#include \"dnnl_tp/${target}\"")
    onednn_header(${folder}/dnnl${name} "#include \"oneapi/dnnl/dnnl${name}\"")
  endforeach()
  foreach(header IN LISTS onednn_sources)
    get_filename_component(name ${header} NAME)
    onednn_header(${folder}/dnnl_tp/${name} "#include \"${sources}/${name}\"")
  endforeach()
  foreach(header IN LISTS onednn_generated)
    get_filename_component(name ${header} NAME)
    onednn_header(${folder}/dnnl_tp/${name} "#include \"${generated}/${name}\"")
  endforeach()
endfunction()

# onednn_target(VARIABLE NAME): the header of this library that has what oneDNN's dnnl<NAME> has.
function(onednn_target out name)
  set(target dnnl_tp${name})
  if(name MATCHES "_common_types\\.h$") # oneDNN's parts; here the whole has them
    set(target dnnl_tp_types.h)
  elseif(name MATCHES "_(common|debug)(\\..*)$")
    set(target dnnl_tp${CMAKE_MATCH_2})
  elseif(name MATCHES "_version_hash")
    set(target dnnl_tp_version.h)
  endif()
  set(${out} ${target} PARENT_SCOPE)
endfunction()

foreach(name IN LISTS onednn_headers)
  onednn_target(target ${name})
  foreach(place IN ITEMS oneapi/dnnl_tp/dnnl_tp${name} dnnl_tp${name})
    onednn_header(${PROJECT_BINARY_DIR}/include/${place} "#include \"dnnl_tp/${target}\"")
    get_filename_component(folder ${place} DIRECTORY)
    install(FILES ${PROJECT_BINARY_DIR}/include/${place} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT dev)
  endforeach()
endforeach()

onednn_compat(${PROJECT_BINARY_DIR}/include/dnnl_tp/compat ${PROJECT_SOURCE_DIR}/include/dnnl_tp
  ${PROJECT_BINARY_DIR}/include/dnnl_tp)
onednn_compat(${PROJECT_BINARY_DIR}/compat "../.." "../..")
install(DIRECTORY ${PROJECT_BINARY_DIR}/compat DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dnnl_tp COMPONENT dev)
add_library(dnnl_tp_compat INTERFACE)
add_library(dnnl_tp::compat ALIAS dnnl_tp_compat)
set_target_properties(dnnl_tp_compat PROPERTIES EXPORT_NAME compat)
target_include_directories(dnnl_tp_compat INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/dnnl_tp/compat>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dnnl_tp/compat>)
install(TARGETS dnnl_tp_compat EXPORT dnnl_tp_targets COMPONENT dev)
