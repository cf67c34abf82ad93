# onnx_run_program(TARGET MAIN LIBRARY...): the program of this folder whose main function is in MAIN.c; the Python package carries
# onnx_run, too.
function(onnx_run_program target main)
  set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  set(sources array clients folder ${main} model npy options peak pool profile top)
  list(TRANSFORM sources REPLACE "(.+)" "${here}/\\1.c")
  list(APPEND sources ${here}/../sentence_encoder/common.c ${here}/../sentence_encoder/output.c
    ${here}/../sentence_encoder/own_pool.c)
  add_executable(${target} ${sources})
  set_source_files_properties(${here}/peak.c PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
  target_include_directories(${target} PRIVATE ${here}/..)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE ONNX_RUN_VERSION="${PROJECT_VERSION}"
    ONNX_RUN_HOSTS=$<BOOL:$<TARGET_PROPERTY:${target},HOSTS>>)
  find_package(Threads REQUIRED)
  target_link_libraries(${target} PRIVATE ${ARGN} Threads::Threads dnnl_tp_build_flags m)
endfunction()
