# Install tree: headers, libraries, CMake package, pkg-config file.
include(CMakePackageConfigHelpers)

set(dnnl_tp_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dnnl_tp)

install(TARGETS dnnl_tp_shared dnnl_tp_static EXPORT dnnl_tp_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dnnl_tp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_config.h
  ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dnnl_tp)
# Adapters are source: their users have the pools that they adapt.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/integrations DESTINATION ${CMAKE_INSTALL_DATADIR}/dnnl_tp
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.py" PATTERN "hosts" EXCLUDE
  PATTERN "__pycache__" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT dnnl_tp_targets NAMESPACE dnnl_tp:: FILE dnnl_tpTargets.cmake DESTINATION ${dnnl_tp_cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dnnl_tpConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dnnl_tpConfig.cmake INSTALL_DESTINATION ${dnnl_tp_cmake_dir})
# While the major version is 0, a minor version may change the ABI (doc/abi.md).
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dnnl_tpConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/dnnl_tpConfig.cmake ${PROJECT_BINARY_DIR}/dnnl_tpConfigVersion.cmake
  DESTINATION ${dnnl_tp_cmake_dir})

# The file finds the tree by its own place, so that an install tree can be moved.
file(RELATIVE_PATH dnnl_tp_pc_prefix
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/dnnl_tp.pc.in ${PROJECT_BINARY_DIR}/dnnl_tp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dnnl_tp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
