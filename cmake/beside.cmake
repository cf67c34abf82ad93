# dnnl_tp_beside(NAME DESCRIPTION INCLUDE SOURCES...): the static library dnnl_tp_NAME, which stands on the public functions
# of the main library; as dnnl_tp::NAME in CMake (programs link it before dnnl_tp::shared or dnnl_tp::static) and with a
# file for pkg-config. INCLUDE: where its headers are in the source tree and in the install tree, with : between.
function(dnnl_tp_beside name description include)
  find_package(Threads REQUIRED)
  string(REPLACE ":" ";" include "${include}")
  list(GET include 0 here)
  list(GET include 1 installed)
  set(target dnnl_tp_${name})
  add_library(${target} STATIC ${ARGN})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${here}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${installed}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC Threads::Threads PRIVATE $<BUILD_INTERFACE:dnnl_tp_build_flags>)
  add_library(dnnl_tp::${name} ALIAS ${target})

  set(DNNL_TP_BESIDE_DESCRIPTION "${description}")
  set(DNNL_TP_BESIDE_INCLUDE ${installed})
  file(RELATIVE_PATH dnnl_tp_pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/beside.pc.in ${PROJECT_BINARY_DIR}/${target}.pc @ONLY)
  install(TARGETS ${target} EXPORT dnnl_tp_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(FILES ${PROJECT_BINARY_DIR}/${target}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()
