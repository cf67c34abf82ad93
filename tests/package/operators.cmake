# What is missing in a row or a class of operators does not compile; the same source without the mistake does.
cmake_minimum_required(VERSION 3.25)
file(READ ${SOURCE_DIR}/src/exec/ops/ops.inc rows)
file(READ ${SOURCE_DIR}/src/exec/ops/transpose.c class)

# compiles(NAME SOURCE EXPECTED): compiles SOURCE with ROWS in place of ops.inc.
function(compiles name source expected)
  file(WRITE ${WORK_DIR}/${name}/exec/ops/ops.inc "${rows}")
  file(WRITE ${WORK_DIR}/${name}/source.c "${source}")
  execute_process(COMMAND ${C_COMPILER} -std=gnu11 -D_GNU_SOURCE -DDTP_X64=0 -Wall -Wextra -Werror -fsyntax-only
      -I${WORK_DIR}/${name} -I${SOURCE_DIR}/src -I${SOURCE_DIR}/include -I${BINARY_DIR}/include
      ${WORK_DIR}/${name}/source.c
    RESULT_VARIABLE result ERROR_VARIABLE text)
  if(expected STREQUAL "" AND NOT result EQUAL 0)
    message(FATAL_ERROR "${name} does not compile:\n${text}")
  elseif(NOT expected STREQUAL "" AND (result EQUAL 0 OR NOT text MATCHES "${expected}"))
    message(FATAL_ERROR "${name}: expected '${expected}', got ${result}\n${text}")
  endif()
endfunction()

file(READ ${SOURCE_DIR}/src/exec/ops/rows.c table)
compiles(rows "${table}" "")
compiles(class "${class}" "")
string(REPLACE "DTP_NO_CUT, " "" lacking "${class}")
compiles(class_without_an_entry "${lacking}" "requires [0-9]+ arguments|too few arguments")
string(REPLACE "transpose_infer, " "no_such_function, " lacking "${class}")
compiles(class_without_inference "${lacking}" "no_such_function")
set(all "${rows}")
string(REPLACE "IS(0), IS(0)) /**< |x| */" "IS(0)) /**< |x| */" rows "${all}")
compiles(row_without_a_parameter "${table}" "requires [0-9]+ arguments|too few arguments")
string(REPLACE "DTP_UNARY(elu, 23" "DTP_UNARY(elu, 26" rows "${all}")
compiles(number_twice "${table}" "duplicate case value")
string(REPLACE "NEEDS(min)" "NEEDS(minimum)" rows "${all}")
compiles(unknown_attribute "${table}" "dnnl_tp_op_attr_minimum")
