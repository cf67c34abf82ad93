# No hot loop of a micro-kernel may keep accumulators on the stack: in the disassembly of the static library, an
# innermost loop with at least 8 multiply-adds must not move a vector register to or from the stack.
find_program(OBJDUMP objdump)
if(NOT OBJDUMP OR NOT "${SANITIZE}" STREQUAL "")
  message("SKIPPED: no objdump, or a sanitized build")
  return()
endif()
execute_process(COMMAND ${C_COMPILER} --version OUTPUT_VARIABLE version)
if(version MATCHES "clang")
  message("SKIPPED: the kernels are tuned for GCC")
  return()
endif()
execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${STATIC_LIBRARY} OUTPUT_FILE ${WORK_DIR}.dis ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "objdump failed")
endif()
execute_process(COMMAND awk -f ${SOURCE_DIR}/tests/package/spills.awk ${WORK_DIR}.dis OUTPUT_VARIABLE found
  RESULT_VARIABLE failed)
file(REMOVE ${WORK_DIR}.dis)
message("${found}")
if(failed)
  message(FATAL_ERROR "spills in hot loops")
endif()
