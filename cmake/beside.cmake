# dnnl_tp_beside(NAME DESCRIPTION INCLUDE SOURCES...): the static library dnnl_tp_NAME, which stands on the public functions
# of the main library; as dnnl_tp::NAME in CMake (programs link it before dnnl_tp::shared or dnnl_tp::static) and with a
# file for pkg-config. INCLUDE: where its headers are in the source tree and in the install tree, with : between.
# PACKAGE: it belongs to Debian packages of its own (components PACKAGE_runtime and PACKAGE_dev of the install tree), and CMake's
# package finds it where these are. SHARED: also as a shared library, dnnl_tp::NAME_shared, which brings the main one. LIBS: other libraries that it needs.
function(dnnl_tp_beside name description include)
  cmake_parse_arguments(PARSE_ARGV 3 arg SHARED PACKAGE "LIBS;SOURCES")
  find_package(Threads REQUIRED)
  string(REPLACE ":" ";" include "${include}")
  list(GET include 0 here)
  list(GET include 1 installed)
  set(target dnnl_tp_${name})
  set(targets ${target})
  add_library(${target} STATIC ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  if(arg_SHARED)
    list(APPEND targets ${target}_shared)
    add_library(${target}_shared SHARED ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
    get_target_property(soversion dnnl_tp_shared SOVERSION)
    set_target_properties(${target}_shared PROPERTIES OUTPUT_NAME ${target} VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
    target_link_libraries(${target}_shared PUBLIC dnnl_tp_shared)
    if(NOT DNNL_TP_SANITIZE)
      target_link_options(${target}_shared PRIVATE LINKER:-z,defs)
    endif()
  endif()
  foreach(t IN LISTS targets)
    string(REGEX REPLACE "^dnnl_tp_" "" export ${t})
    set_target_properties(${t} PROPERTIES EXPORT_NAME ${export} C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${t} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${here}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
      $<INSTALL_INTERFACE:${installed}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${t} PUBLIC Threads::Threads ${arg_LIBS} PRIVATE $<BUILD_INTERFACE:dnnl_tp_build_flags>)
    add_library(dnnl_tp::${export} ALIAS ${t})
  endforeach()

  set(DNNL_TP_BESIDE_DESCRIPTION "${description}")
  set(DNNL_TP_BESIDE_INCLUDE ${installed})
  list(TRANSFORM arg_LIBS PREPEND " -l" OUTPUT_VARIABLE libs)
  list(JOIN libs "" DNNL_TP_BESIDE_LIBS)
  file(RELATIVE_PATH dnnl_tp_pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/beside.pc.in ${PROJECT_BINARY_DIR}/${target}.pc @ONLY)
  set(export dnnl_tp_targets)
  if(arg_PACKAGE)
    set(arg_PACKAGE ${arg_PACKAGE}_)
    set(export ${target}_targets)
  endif()
  install(TARGETS ${targets} EXPORT ${export}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${arg_PACKAGE}runtime NAMELINK_COMPONENT ${arg_PACKAGE}dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${arg_PACKAGE}dev)
  install(FILES ${PROJECT_BINARY_DIR}/${target}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${arg_PACKAGE}dev)
  if(arg_PACKAGE)
    install(EXPORT ${export} NAMESPACE dnnl_tp:: FILE ${target}Targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dnnl_tp
      COMPONENT ${arg_PACKAGE}dev)
  endif()
endfunction()
