# Install tree, in three components: runtime (the shared library), dev (headers, libraries, CMake package, pkg-config file,
# adapters, pool_check) and doc (pages, examples). cmake --install brings all of them; package.cmake makes a Debian
# package of each.
include(CMakePackageConfigHelpers)

set(dnnl_tp_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dnnl_tp)
set(dnnl_tp_integrations_dir ${CMAKE_INSTALL_DATADIR}/dnnl_tp/integrations)
set(dnnl_tp_examples_dir ${CMAKE_INSTALL_DOCDIR}/examples)

install(TARGETS dnnl_tp_shared dnnl_tp_static EXPORT dnnl_tp_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dnnl_tp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_config.h
  ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_operators.h ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dnnl_tp COMPONENT dev)
# A program that is installed finds the library by its own place, unless that is where the system looks.
if(TARGET pool_check)
  if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    file(RELATIVE_PATH dnnl_tp_bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(pool_check PROPERTIES INSTALL_RPATH "$ORIGIN/${dnnl_tp_bin_to_lib}")
  endif()
  install(TARGETS pool_check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dev)
  configure_file(${PROJECT_SOURCE_DIR}/doc/pool_check.1 ${PROJECT_BINARY_DIR}/man/pool_check.1 COPYONLY)
  find_program(DNNL_TP_GZIP gzip)
  if(DNNL_TP_GZIP)
    execute_process(COMMAND ${DNNL_TP_GZIP} -9nf pool_check.1 WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/man
      COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${PROJECT_BINARY_DIR}/man/pool_check.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT dev)
  endif()
endif()
# Adapters are source: their users have the pools that they adapt.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/integrations DESTINATION ${CMAKE_INSTALL_DATADIR}/dnnl_tp COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.py" PATTERN "README.md"
  PATTERN "targets.cmake" PATTERN "hosts" EXCLUDE PATTERN "__pycache__" EXCLUDE)

# Pages lie as in the source tree, so that their links hold.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/README.md
  ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/doc DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc
  FILES_MATCHING PATTERN "*.md")
install(FILES ${PROJECT_SOURCE_DIR}/integrations/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/integrations
  COMPONENT doc)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/ DESTINATION ${dnnl_tp_examples_dir} COMPONENT doc
  PATTERN "tests" EXCLUDE PATTERN "__pycache__" EXCLUDE)

install(EXPORT dnnl_tp_targets NAMESPACE dnnl_tp:: FILE dnnl_tpTargets.cmake DESTINATION ${dnnl_tp_cmake_dir}
  COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dnnl_tpConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dnnl_tpConfig.cmake INSTALL_DESTINATION ${dnnl_tp_cmake_dir}
  PATH_VARS dnnl_tp_integrations_dir dnnl_tp_examples_dir)
# While the major version is 0, a minor version may change the ABI (doc/abi.md).
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dnnl_tpConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/dnnl_tpConfig.cmake ${PROJECT_BINARY_DIR}/dnnl_tpConfigVersion.cmake
  DESTINATION ${dnnl_tp_cmake_dir} COMPONENT dev)

# The file finds the tree by its own place, so that an install tree can be moved.
file(RELATIVE_PATH dnnl_tp_pc_prefix
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/dnnl_tp.pc.in ${PROJECT_BINARY_DIR}/dnnl_tp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dnnl_tp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
