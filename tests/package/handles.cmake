# A handle of C++ is its C handle and nothing else: what takes data does not take it. Each line below must not compile;
# its twin, which says what was meant, must, so that no line is refused for another reason.
cmake_minimum_required(VERSION 3.25)
set(refused)
set(accepted)
macro(pair wrong meant)
  list(APPEND refused "${wrong}")
  list(APPEND accepted "${meant}")
endmacro()
pair("mem.set_data(mem)" "mem.set_data(mem.data())")
pair("mem.set_data_handle(mem)" "mem.set_data_handle(mem.get_data_handle())")
pair("memory(md, eng, mem)" "memory(md, eng, mem.data())")
pair("memory(md.get(), eng, eng)" "memory(md.get(), eng, DNNL_TP_MEMORY_NONE)")
pair("prim.execute_handles(s, {{DNNL_TP_ARG_SRC, mem}})" "prim.execute_handles(s, {{DNNL_TP_ARG_SRC, mem.data()}})")
pair("prim.execute(s, {{DNNL_TP_ARG_SRC, md}})" "prim.execute(s, {{DNNL_TP_ARG_SRC, mem}})")
pair("prim.timed_run(s, {{DNNL_TP_ARG_SRC, mem}})" "prim.timed_run(s, {{DNNL_TP_ARG_SRC, mem.data()}})")
pair("ex.run(s, {mem}, {mem})" "ex.run(s, {mem.data()}, {mem.data()})")
pair("ex.run(s, pointers, {mem, mem})" "ex.run(s, pointers, std::vector<void *>{mem.data(), mem.data()})")
pair("ex.run_async(s, {mem}, {mem})" "ex.run_async(s, {mem.data()}, {mem.data()})")
pair("ex.timed_run(s, {mem}, {mem})" "ex.timed_run(s, {mem.data()}, {mem.data()})")
pair("call.run({mem}, {mem})" "call.run({mem.data()}, {mem.data()})")
pair("void *p = mem" "void *p = mem.data()")
pair("const void *p = md" "const void *p = md.get()")
pair("std::memcpy(mem, mem, 4)" "std::memcpy(mem.data(), mem.data(), 4)")
pair("dnnl_tp_stream_t h = eng" "dnnl_tp_engine_t h = eng")
pair("const_dnnl_tp_memory_t h = md" "const_dnnl_tp_memory_desc_t h = md")
pair("bool b = mem" "bool b(mem)")
pair("delete eng" "eng.reset()")
pair("mem == md" "mem == mem")
pair("free(mem)" "free(nullptr)")

execute_process(COMMAND ${CXX_COMPILER} --version OUTPUT_VARIABLE version)
set(all_errors -fmax-errors=0)
if(version MATCHES "clang")
  set(all_errors -ferror-limit=0)
endif()

# compile(NAME STATEMENT...): result = 0 if all of them compile; else text has the errors. Statement i is on line 100 + i.
function(compile name)
  set(body)
  foreach(statement IN LISTS ARGN)
    string(APPEND body "{ ${statement}; }\n")
  endforeach()
  file(WRITE ${WORK_DIR}/${name}.cpp "#include <cstdlib>
#include <cstring>
#include <vector>
#include \"dnnl_tp/dnnl_tp.hpp\"
#include \"dnnl_tp/dnnl_tp_session.hpp\"
using namespace dnnl_tp;
void f(engine &eng, stream &s, memory_desc &md, memory &mem, primitive &prim, executable &ex, callable &call,
       std::vector<void *> &pointers) {
    (void)eng; (void)s; (void)md; (void)mem; (void)prim; (void)ex; (void)call; (void)pointers;
#line 101
${body}}\n")
  execute_process(COMMAND ${CXX_COMPILER} -std=c++17 -fsyntax-only ${all_errors} -I${SOURCE_DIR}/include
      -I${BINARY_DIR}/include ${WORK_DIR}/${name}.cpp
    RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(result ${result} PARENT_SCOPE)
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${WORK_DIR})
compile(meant ${accepted})
if(NOT result EQUAL 0)
  message(FATAL_ERROR "what is meant does not compile:\n${text}")
endif()
compile(refused ${refused})
if(result EQUAL 0)
  message(FATAL_ERROR "nothing was refused")
endif()
set(line 100)
foreach(statement IN LISTS refused)
  math(EXPR line "${line} + 1")
  if(NOT text MATCHES "refused\\.cpp:${line}:[0-9]+: error: ")
    message(SEND_ERROR "compiles, but should not: ${statement}")
  endif()
endforeach()
math(EXPR n "${line} - 100")
message("${n} lines are refused")
