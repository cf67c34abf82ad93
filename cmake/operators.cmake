# The public enumerators of operators and their attributes, from the lists of src/exec/ops (doc/decisions/0008-operator-lists.md).
# A line MACRO(name, number, ...) /**< remark */ becomes an enumerator; other comments that begin with two stars stay.
set(dnnl_tp_ops ${PROJECT_SOURCE_DIR}/src/exec/ops)
file(GLOB_RECURSE dnnl_tp_op_classes CONFIGURE_DEPENDS ${dnnl_tp_ops}/*.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dnnl_tp_ops}/ops.inc ${dnnl_tp_ops}/attributes.inc
  ${dnnl_tp_op_classes})

file(READ ${dnnl_tp_ops}/ops.inc text)
string(FIND "${text}" "*/\n" end) # of the comment that the file begins with
math(EXPR end "${end} + 2")
string(SUBSTRING "${text}" ${end} -1 text)
string(REGEX REPLACE "\n#[^\n]*" "" text "${text}")
string(REGEX REPLACE "\nDTP_[A-Z]+\\(([a-z0-9_]+), ([0-9a-fx]+)[^\n]*(/\\*\\*<[^\n]*\\*/)" "\ndnnl_tp_op_\\1 = \\2, \\3" text "${text}")
string(REGEX REPLACE "\nDTP_[A-Z]+\\(([a-z0-9_]+), ([0-9a-fx]+)[^\n]*" "\ndnnl_tp_op_\\1 = \\2," text "${text}")
string(REGEX REPLACE "\n([^\n])" "\n    \\1" text "${text}")
string(REGEX REPLACE "^\n" "" DNNL_TP_OPERATORS "${text}")

set(DNNL_TP_OPERATOR_ATTRIBUTES)
foreach(file IN LISTS dnnl_tp_op_classes ITEMS ${dnnl_tp_ops}/attributes.inc)
  file(STRINGS ${file} lines REGEX "^DTP_ATTR\\(")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^DTP_ATTR\\(([a-z0-9_]+), ([0-9a-fx]+)\\) *" "    dnnl_tp_op_attr_\\1 = \\2, " line "${line}")
    string(APPEND DNNL_TP_OPERATOR_ATTRIBUTES "${line}\n")
  endforeach()
endforeach()
configure_file(include/dnnl_tp/dnnl_tp_operators.h.in include/dnnl_tp/dnnl_tp_operators.h @ONLY)
