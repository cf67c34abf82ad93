# The only place with instruction-set flags. The suffix of a source file names its set:
# foo_avx2.c, foo_avx512.c, foo_avx512_bf16.c, foo_avx512_vnni.c; every other file is baseline.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(DNNL_TP_X64 1)
else()
  set(DNNL_TP_X64 0)
endif()

set(dnnl_tp_flags_avx2 -mavx2 -mfma -mf16c -mtune=generic)
set(dnnl_tp_flags_avx512
  -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mtune=generic -mprefer-vector-width=512)
set(dnnl_tp_flags_avx512_bf16 ${dnnl_tp_flags_avx512} -mavx512bf16)
set(dnnl_tp_flags_avx512_vnni ${dnnl_tp_flags_avx512} -mavx512vnni)

# Gives each file of SOURCES its flags; on other processors drops the files that need them.
function(dnnl_tp_isa_sources out)
  set(kept)
  foreach(file IN LISTS ARGN)
    if(file MATCHES "_(avx2|avx512|avx512_bf16|avx512_vnni)\\.c$")
      if(DNNL_TP_X64)
        set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${dnnl_tp_flags_${CMAKE_MATCH_1}}")
        list(APPEND kept ${file})
      endif()
    else()
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${out} ${kept} PARENT_SCOPE)
endfunction()
