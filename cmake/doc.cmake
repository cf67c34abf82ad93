# Target doc: the API reference from the public headers, warnings as errors. Not part of `all`.
find_program(DNNL_TP_DOXYGEN doxygen)
if(DNNL_TP_DOXYGEN)
  file(GLOB doc_headers CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/include/dnnl_tp/*.h ${PROJECT_SOURCE_DIR}/include/dnnl_tp/*.hpp)
  list(JOIN doc_headers " " doc_input)
  set(doc_generated ${PROJECT_BINARY_DIR}/include/dnnl_tp)
  add_custom_target(doc
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/doc
    COMMAND ${CMAKE_COMMAND} -E env
      "DNNL_TP_DOC_INPUT=${doc_input} ${doc_generated}/dnnl_tp_config.h ${doc_generated}/dnnl_tp_version.h"
      DNNL_TP_DOC_OUTPUT=${PROJECT_BINARY_DIR}/doc
      "DNNL_TP_DOC_STRIP=${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include"
      ${DNNL_TP_DOXYGEN} ${PROJECT_SOURCE_DIR}/doc/Doxyfile
    COMMENT "API reference: ${PROJECT_BINARY_DIR}/doc/html/index.html"
    VERBATIM)
else()
  add_custom_target(doc
    COMMAND ${CMAKE_COMMAND} -E echo "doxygen is not installed; scripts/setup test installs it"
    COMMAND ${CMAKE_COMMAND} -E false)
endif()
