# Target doc: the drawing of the rooms of src, and the API reference from the public headers (C in doc/c, C++ in doc/cpp of the build folder), warnings
# as errors. Not part of `all`.
find_program(DNNL_TP_DOXYGEN doxygen)
if(NOT DNNL_TP_DOXYGEN)
  add_custom_target(doc
    COMMAND ${CMAKE_COMMAND} -E echo "doxygen is not installed; scripts/setup test installs it"
    COMMAND ${CMAKE_COMMAND} -E false)
  return()
endif()

file(GLOB doc_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/dnnl_tp/*.h)
list(APPEND doc_c ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_config.h
  ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_operators.h ${PROJECT_BINARY_DIR}/include/dnnl_tp/dnnl_tp_version.h)
file(GLOB doc_cpp CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/dnnl_tp/*.hpp)
foreach(part IN ITEMS c cpp)
  list(JOIN doc_${part} " " doc_input_${part})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/doc/${part})
endforeach()
set(doc_run ${CMAKE_COMMAND} -E env "DNNL_TP_DOC_STRIP=${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include"
  DNNL_TP_DOC_C=${PROJECT_SOURCE_DIR}/doc/Doxyfile)
set(doc_rooms)
find_program(DNNL_TP_DOT dot)
if(DNNL_TP_DOT)
  set(doc_rooms COMMAND ${DNNL_TP_DOT} -Tsvg ${PROJECT_SOURCE_DIR}/doc/rooms.dot -o ${PROJECT_BINARY_DIR}/doc/rooms.svg)
endif()
add_custom_target(doc
  ${doc_rooms}
  COMMAND ${doc_run} "DNNL_TP_DOC_INPUT=${doc_input_c}" DNNL_TP_DOC_OUTPUT=${PROJECT_BINARY_DIR}/doc/c
    ${DNNL_TP_DOXYGEN} ${PROJECT_SOURCE_DIR}/doc/Doxyfile
  COMMAND ${doc_run} "DNNL_TP_DOC_INPUT=${doc_input_cpp}" DNNL_TP_DOC_OUTPUT=${PROJECT_BINARY_DIR}/doc/cpp
    ${DNNL_TP_DOXYGEN} ${PROJECT_SOURCE_DIR}/doc/Doxyfile.cpp
  COMMENT "API reference: ${PROJECT_BINARY_DIR}/doc/c/html/index.html and doc/cpp/html/index.html"
  VERBATIM)
