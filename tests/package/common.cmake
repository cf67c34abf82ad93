# run(COMMAND...): runs it, ends the test with its output if it fails; else the output is in `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Builds and runs the outside project of tests/install, in FOLDER, against the tree with that prefix.
function(run_consumer folder prefix)
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install -B ${folder} -G ${GENERATOR}
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_PREFIX_PATH=${prefix}
    -DEXPECTED_VERSION=${VERSION})
  run(${CMAKE_COMMAND} --build ${folder})
  set(programs c_default c_static cxx_shared cxx_static check_shared check_static import_shared import_static)
  if(RUNTIME STREQUAL "EXT_THREADPOOL")
    file(STRINGS ${folder}/adapters.txt adapters)
    if(NOT "on_std_thread" IN_LIST adapters)
      message(FATAL_ERROR "no adapter for std::thread in ${prefix}")
    endif()
    list(APPEND programs ${adapters})
  endif()
  foreach(program IN LISTS programs)
    run(${folder}/${program})
  endforeach()
endfunction()
