# Debian packages, one of each component of the install tree: libdnnl-tp0.1, libdnnl-tp-dev, libdnnl-tp-doc, and where the importer
# of ONNX models is built libdnnl-tp-onnx0.1, libdnnl-tp-onnx-dev.
#   cmake --preset deb && cmake --build --preset deb && cpack --config build/deb/CPackConfig.cmake
# The preset lays the tree out for /usr. scripts/package does all of it.
option(DNNL_TP_DEB "Describe Debian packages (CMAKE_INSTALL_PREFIX=/usr)" OFF)
if(NOT DNNL_TP_DEB)
  return()
endif()
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "DNNL_TP_DEB needs CMAKE_INSTALL_PREFIX=/usr, not ${CMAKE_INSTALL_PREFIX}")
endif()
set(deb_release 1)
set(deb_version ${PROJECT_VERSION}-${deb_release})
get_target_property(deb_soversion dnnl_tp_shared SOVERSION)
set(deb_runtime libdnnl-tp${deb_soversion})
set(deb_dev libdnnl-tp-dev)
set(deb_doc libdnnl-tp-doc)
set(deb_onnx_runtime libdnnl-tp-onnx${deb_soversion})
set(deb_onnx_dev libdnnl-tp-onnx-dev)
set(deb_components runtime dev doc)
if(TARGET dnnl_tp_onnx_shared)
  list(APPEND deb_components onnx_runtime onnx_dev)
endif()

get_target_property(deb_shared_dir dnnl_tp_shared BINARY_DIR)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL ${deb_components})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME dnnl-tp)
set(CPACK_PACKAGE_VENDOR dnnl_tp)
set(CPACK_PACKAGE_CONTACT "dnnl_tp maintainers <maintainers@dnnl-tp.example>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${deb_release})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(deb_text "dnnl_tp computes matrix products, normalisations, element-wise functions
and whole graphs on a thread pool that the program passes. It starts no
thread that nobody asked for. The API is that of oneDNN v3 with a prefix.

This package holds")
foreach(component IN LISTS deb_components)
  string(TOUPPER ${component} C)
  set(CPACK_DEBIAN_${C}_PACKAGE_NAME ${deb_${component}})
  set(CPACK_DEBIAN_${C}_FILE_NAME DEB-DEFAULT)
endforeach()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "${deb_text} the shared library.")
set(CPACK_DEBIAN_DEV_DESCRIPTION "${deb_text} headers for C and C++, static libraries, adapters
for pools of oneTBB, Eigen, OpenMP and others, and pool_check.")
set(CPACK_DEBIAN_DOC_DESCRIPTION "${deb_text} the guides and the examples.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
file(WRITE ${PROJECT_BINARY_DIR}/deb/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/triggers)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${deb_runtime} (= ${deb_version}), libc6-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS ${deb_doc})
set(CPACK_DEBIAN_ONNX_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ONNX_RUNTIME_DESCRIPTION "${deb_text} the importer of ONNX models as a shared library.")
set(CPACK_DEBIAN_ONNX_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${deb_shared_dir})
set(CPACK_DEBIAN_ONNX_RUNTIME_PACKAGE_DEPENDS "${deb_runtime} (= ${deb_version})")
set(CPACK_DEBIAN_ONNX_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/triggers)
set(CPACK_DEBIAN_ONNX_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_ONNX_DEV_DESCRIPTION "${deb_text} the importer of ONNX models
as a static library, and what programs need to link it.")
set(CPACK_DEBIAN_ONNX_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_ONNX_DEV_PACKAGE_DEPENDS
  "${deb_onnx_runtime} (= ${deb_version}), ${deb_dev} (= ${deb_version}), libprotobuf-c-dev")

# What Debian's policy wants of each package: copyright and a changelog.
file(CONFIGURE OUTPUT deb/copyright @ONLY CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: dnnl_tp
Comment: See NOTICE in the documents for what third parties contribute.

Files: *
Copyright: 2026, the dnnl_tp authors
License: Apache-2.0

License: Apache-2.0
 Licensed under the Apache License, Version 2.0. On Debian systems its full text
 is in /usr/share/common-licenses/Apache-2.0.
")
string(TIMESTAMP deb_date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH makes it repeatable
file(CONFIGURE OUTPUT deb/changelog.Debian @ONLY CONTENT
"dnnl-tp (${deb_version}) unstable; urgency=medium

  * Built from the sources of dnnl_tp; CHANGELOG.md tells what changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${deb_date}
")
find_program(DNNL_TP_GZIP gzip REQUIRED)
execute_process(COMMAND ${DNNL_TP_GZIP} -9nf changelog.Debian WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/deb
  COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS deb_components)
  install(FILES ${PROJECT_BINARY_DIR}/deb/copyright ${PROJECT_BINARY_DIR}/deb/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${deb_${component}} COMPONENT ${component})
endforeach()
include(CPack)
