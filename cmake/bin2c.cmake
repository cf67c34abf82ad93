# FROM as a C array NAME in TO: cmake -DBIN2C= -DNAME= -DFROM= -DSAID= -DTO= -P bin2c.cmake. Without FROM its compiler has failed, and
# SAID tells why.
if(NOT EXISTS ${FROM})
  file(READ ${SAID} said)
  message(FATAL_ERROR "${said}")
endif()
execute_process(COMMAND ${BIN2C} --const --padd 0 --type longlong --name ${NAME} ${FROM}
  OUTPUT_FILE ${TO} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  file(REMOVE ${TO})
  message(FATAL_ERROR "bin2c failed: ${result}")
endif()
