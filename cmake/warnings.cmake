# Warnings, sanitizers and what else every target of this project is compiled with.
add_library(dnnl_tp_build_flags INTERFACE)
target_compile_options(dnnl_tp_build_flags INTERFACE
  -Wall -Wextra -Wpointer-arith -Wundef -Wwrite-strings -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  $<$<BOOL:${DNNL_TP_WERROR}>:-Werror>
  -fno-math-errno -ffp-contract=off)
if(DNNL_TP_SANITIZE)
  list(JOIN DNNL_TP_SANITIZE "," sanitizers)
  target_compile_options(dnnl_tp_build_flags INTERFACE
    -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  # GCC warns of every fence under the thread sanitizer; only headers of peers have some.
  if("thread" IN_LIST DNNL_TP_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(dnnl_tp_build_flags INTERFACE -Wno-tsan)
  endif()
  target_link_options(dnnl_tp_build_flags INTERFACE -fsanitize=${sanitizers})
endif()
