# The public enumerators of operators and their attributes, from the lists of src/exec/ops (doc/decisions/0009-operator-lists.md).
# dnnl_tp_enumerators(FILE PREFIX VARIABLE): a line MACRO(name, number, ...) /**< remark */ becomes an enumerator; comments
# that begin with two stars stay.
function(dnnl_tp_enumerators file prefix variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  file(READ ${PROJECT_SOURCE_DIR}/${file} text)
  string(FIND "${text}" "*/\n" end) # of the comment that the file begins with
  math(EXPR end "${end} + 2")
  string(SUBSTRING "${text}" ${end} -1 text)
  string(REGEX REPLACE "\nDTP_[A-Z]+\\(([a-z0-9_]+), ([0-9a-fx]+)[^\n]*(/\\*\\*<[^\n]*\\*/)" "\n${prefix}\\1 = \\2, \\3" text "${text}")
  string(REGEX REPLACE "\nDTP_[A-Z]+\\(([a-z0-9_]+), ([0-9a-fx]+)[^\n]*" "\n${prefix}\\1 = \\2," text "${text}")
  string(REGEX REPLACE "\n([^\n])" "\n    \\1" text "${text}")
  string(REGEX REPLACE "^\n" "" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

dnnl_tp_enumerators(src/exec/ops/ops.inc dnnl_tp_op_ DNNL_TP_OPERATORS)
dnnl_tp_enumerators(src/exec/ops/attributes.inc dnnl_tp_op_attr_ DNNL_TP_OPERATOR_ATTRIBUTES)
configure_file(include/dnnl_tp/dnnl_tp_operators.h.in include/dnnl_tp/dnnl_tp_operators.h @ONLY)
