# DNNL_TP_COMMIT: the commit of this source tree when it was configured, or "N/A". Read at configure time only, so that a
# commit rebuilds nothing.
set(DNNL_TP_COMMIT "N/A")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git) # not the repository of a project that holds this one
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    RESULT_VARIABLE failed OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND commit MATCHES "^[0-9a-f]+$")
    set(DNNL_TP_COMMIT ${commit})
  endif()
endif()
