# No kernel of a GPU may have a stack frame or spill registers, on any architecture, but for those of gpu_spills.txt, with at most the
# bytes that stand there. Reads what ptxas said when the kernels were compiled (cmake/cuda.cmake).
file(GLOB said ${BINARY_DIR}/fatbins/*.ptxas)
if(NOT said)
  message("SKIPPED: this build compiled no GPU kernels")
  return()
endif()
execute_process(COMMAND awk -f ${SOURCE_DIR}/tests/package/gpu_spills.awk ${SOURCE_DIR}/tests/package/gpu_spills.txt ${said}
  OUTPUT_VARIABLE found RESULT_VARIABLE failed)
message("${found}")
if(failed)
  message(FATAL_ERROR "spills or stack frames that tests/package/gpu_spills.txt does not allow")
endif()
