# Tests of the harness itself (command line, lists, flow, fuzz corpus), and the correctness sets of the drivers.
set(cases ${PROJECT_SOURCE_DIR}/tests/benchdnn)
foreach(name IN ITEMS cli list flow onednn)
  add_test(NAME benchdnn_${name} COMMAND ${cases}/run_cases.sh $<TARGET_FILE:benchdnn> ${cases}/cases_${name})
  set_tests_properties(benchdnn_${name} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endforeach()

# The drivers' names, from the list that the program is made of.
file(STRINGS drivers/drivers.inc drivers REGEX "^BD_DRIVER")
list(TRANSFORM drivers REPLACE "BD_DRIVER\\((.*)\\)" "\\1")

# Layer lists of networks: against their topologies and published totals; the program that adds up their times. One build is
# enough: it runs nothing that was compiled.
find_program(PYTHON3 python3)
if(PYTHON3 AND NOT DNNL_TP_SANITIZE AND DNNL_CPU_RUNTIME STREQUAL "EXT_THREADPOOL")
  set(models ${CMAKE_CURRENT_SOURCE_DIR}/models)
  set(peers_python ${PROJECT_SOURCE_DIR}/build/peers/bin/python) # has the package onnx
  if(NOT EXISTS ${peers_python})
    set(peers_python ${PYTHON3})
  endif()
  add_test(NAME benchdnn_layer_lists COMMAND ${peers_python} ${models}/layer_lists.py --check)
  add_test(NAME benchdnn_compare_layers
    COMMAND ${cases}/compare_layers.sh ${PYTHON3} ${models}/compare_layers.py $<TARGET_FILE:benchdnn>)
  set_tests_properties(benchdnn_layer_lists benchdnn_compare_layers PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endif()

# Every set runs on the widest instruction set; _ci also on AVX2 and on the portable code, and bitwise.
foreach(driver IN LISTS drivers)
  add_test(NAME benchdnn_smoke_${driver} COMMAND benchdnn --${driver} --batch=test_${driver}_smoke)
  set_tests_properties(benchdnn_smoke_${driver} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
  add_test(NAME benchdnn_ci_${driver} COMMAND benchdnn --${driver} --batch=test_${driver}_ci)
  add_test(NAME benchdnn_ci_${driver}_async COMMAND benchdnn --pool=async --threads=3 --${driver} --batch=test_${driver}_smoke)
  add_test(NAME benchdnn_ci_${driver}_bitwise COMMAND benchdnn --mode=B --${driver} --batch=test_${driver}_smoke)
  foreach(isa IN ITEMS avx2 ref)
    add_test(NAME benchdnn_ci_${driver}_${isa} COMMAND benchdnn --isa=${isa} --${driver} --batch=test_${driver}_ci)
    set_tests_properties(benchdnn_ci_${driver}_${isa} PROPERTIES LABELS full TIMEOUT 3600)
  endforeach()
  set_tests_properties(benchdnn_ci_${driver} benchdnn_ci_${driver}_async benchdnn_ci_${driver}_bitwise
    PROPERTIES LABELS full TIMEOUT 3600)
endforeach()

# The same on an engine with a memory of its own, which tests have (tests/support/far_engine).
if(DNNL_CPU_RUNTIME STREQUAL "EXT_THREADPOOL")
  add_executable(benchdnn_far main.c ${sources} $<TARGET_OBJECTS:dnnl_tp_far_engine>)
  target_include_directories(benchdnn_far PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(benchdnn_far PRIVATE _GNU_SOURCE)
  target_link_libraries(benchdnn_far PRIVATE bench_timing dnnl_tp_static Threads::Threads m ${CMAKE_DL_LIBS} dnnl_tp_build_flags)
  add_dependencies(benchdnn_far benchdnn_inputs)
  foreach(driver IN LISTS drivers)
    add_test(NAME benchdnn_far_${driver} COMMAND benchdnn_far --engine=gpu --${driver} --batch=test_${driver}_smoke)
    set_tests_properties(benchdnn_far_${driver} PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
  endforeach()
  add_test(NAME benchdnn_far_times COMMAND benchdnn_far --engine=gpu:1 --mode=P --fix-times-per-prb=5 --cold-cache=all
    --matmul 7x8:8x9)
  set_tests_properties(benchdnn_far_times PROPERTIES LABELS quick TIMEOUT ${quick_timeout}
    PASS_REGULAR_EXPRESSION "perf,gpu:1,")
endif()

# The kernels of GPUs, run by a driver that tests have (tests/gpu); what the CUDA engine refuses, blocked layouts above all, is no
# failure.
if(DNNL_TP_WITH_CUDA_KERNELS)
  foreach(driver IN ITEMS binary concat conv deconv eltwise ip lnorm lrn matmul pool reduction reorder resampling shuffle softmax sum)
    set(run benchdnn --engine=gpu --allow-unimpl=true --${driver})
    add_test(NAME gpu_benchdnn_${driver}_smoke COMMAND ${run} --batch=test_${driver}_smoke)
    set(ci test_${driver}_ci)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/inputs/${driver}/${ci}_small) # large problems take minutes, and the same kernels
      string(APPEND ci _small)
    endif()
    add_test(NAME gpu_benchdnn_${driver} COMMAND ${run} --batch=${ci})
    set_tests_properties(gpu_benchdnn_${driver}_smoke PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
    set_tests_properties(gpu_benchdnn_${driver} PROPERTIES LABELS full TIMEOUT 3600)
    set_tests_properties(gpu_benchdnn_${driver} gpu_benchdnn_${driver}_smoke PROPERTIES
      ENVIRONMENT "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/tests/fake_libcuda;DNNL_TP_CUBLASLT=0")
  endforeach()
  foreach(driver IN ITEMS ip matmul) # by cuBLASLt, which tests have, too
    add_test(NAME gpu_benchdnn_${driver}_lt COMMAND benchdnn --engine=gpu --allow-unimpl=true --${driver} --batch=test_${driver}_ci)
    set_tests_properties(gpu_benchdnn_${driver}_lt PROPERTIES LABELS full TIMEOUT 3600 PASS_REGULAR_EXPRESSION "cuda:cublaslt : [0-9][0-9][0-9].* failed:0 "
      ENVIRONMENT "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/tests/fake_libcuda:${PROJECT_BINARY_DIR}/tests/fake_libcublaslt")
  endforeach()
endif()

# The same on the machine's own driver, `ctest -L gpu`; left out where it has no GPU.
if(DNNL_TP_WITH_CUDA_KERNELS)
  function(on_gpu name)
    add_test(NAME on_gpu_${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/gpu/on_gpu.sh $<TARGET_FILE:benchdnn> ${ARGN})
    set_tests_properties(on_gpu_${name} PROPERTIES LABELS gpu TIMEOUT 600 SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu
      ENVIRONMENT DNNL_TP_TEST_REAL_GPU=1)
  endfunction()
  foreach(driver IN ITEMS binary concat conv deconv eltwise ip lnorm lrn matmul pool reduction reorder resampling shuffle softmax sum)
    set(run $<TARGET_FILE:benchdnn> --engine=gpu --allow-unimpl=true --${driver})
    on_gpu(${driver} ${run} --batch=test_${driver}_ci)
    on_gpu(${driver}_memcheck memcheck ${run} --batch=test_${driver}_smoke)
    on_gpu(${driver}_racecheck racecheck ${run} --batch=test_${driver}_smoke)
  endforeach()
  foreach(test IN ITEMS exec_bert exec_convnet exec_cumsum exec_exact_products exec_indexed exec_interpolate exec_known_if exec_ops
      exec_pads exec_parts exec_pointwise exec_recurrent exec_top_k exec_tree_ensemble cts_attention cts_exact_types cts_gather_pool cts_postops)
    on_gpu(${test} $<TARGET_FILE:test_gpu_${test}>)
  endforeach()
  foreach(tool IN ITEMS memcheck racecheck)
    on_gpu(attention_${tool} ${tool} $<TARGET_FILE:test_gpu_cts_attention>)
    on_gpu(gather_pool_${tool} ${tool} $<TARGET_FILE:test_gpu_cts_gather_pool>)
  endforeach()
endif()

# The script that times suites of kernels, with small shapes.
if(DNNL_TP_WITH_CUDA_KERNELS)
  add_test(NAME gpu_suites COMMAND sh -c "rm -f suites.csv; ${CMAKE_CURRENT_SOURCE_DIR}/gpu/run.sh suites.csv $<TARGET_FILE:benchdnn> tiny")
  set_tests_properties(gpu_suites PROPERTIES LABELS quick TIMEOUT ${quick_timeout} PASS_REGULAR_EXPRESSION "matmul_tf32: done"
    ENVIRONMENT "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/tests/fake_libcuda;DNNL_TP_CUBLASLT=0")
endif()

# Bugs in the kernels that ship, each of which must be found: small problems of benchdnn on the same driver.
if(DNNL_TP_WITH_CUDA_KERNELS)
  file(GLOB controls CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/gpu/controls/*.c)
  add_executable(test_gpu_kernel_controls ${controls} $<TARGET_OBJECTS:benchdnn_core>)
  target_include_directories(test_gpu_kernel_controls PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(test_gpu_kernel_controls PRIVATE _GNU_SOURCE)
  target_link_libraries(test_gpu_kernel_controls PRIVATE bench_timing dnnl_tp_fake_cuda dnnl_tp_test_support Threads::Threads m
    ${CMAKE_DL_LIBS} dnnl_tp_build_flags)
  if(NOT DNNL_TP_SANITIZE) # they find nothing else in kernels
    add_test(NAME gpu_kernel_controls COMMAND test_gpu_kernel_controls --quick)
    add_test(NAME gpu_kernel_controls_all COMMAND test_gpu_kernel_controls)
    set_tests_properties(gpu_kernel_controls PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
    set_tests_properties(gpu_kernel_controls_all PROPERTIES LABELS full TIMEOUT 900 COST 100)
  endif()
endif()

# Graphs from files.
file(GLOB graphs CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/inputs/graph ${CMAKE_CURRENT_SOURCE_DIR}/inputs/graph/*.graph)
list(TRANSFORM graphs PREPEND --graph=)
add_test(NAME benchdnn_graphs COMMAND benchdnn ${graphs})
if(TARGET benchdnn_far)
  add_test(NAME benchdnn_far_graphs COMMAND benchdnn_far --engine=gpu ${graphs})
  set_tests_properties(benchdnn_far_graphs PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
endif()
add_test(NAME benchdnn_cases_graph COMMAND ${cases}/run_cases.sh $<TARGET_FILE:benchdnn> ${cases}/cases_graph)
set_tests_properties(benchdnn_graphs benchdnn_cases_graph PROPERTIES LABELS quick TIMEOUT ${quick_timeout})

set(fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz)
add_executable(replay_benchdnn ${fuzz}/fuzz_replay.c ${fuzz}/fuzz_benchdnn.c)
target_link_libraries(replay_benchdnn PRIVATE benchdnn_core dnnl_tp_build_flags)
add_test(NAME fuzz_replay_benchdnn COMMAND replay_benchdnn ${fuzz}/corpus/benchdnn)
set_tests_properties(fuzz_replay_benchdnn PROPERTIES LABELS quick TIMEOUT ${quick_timeout})
find_program(CLANG clang)
if(CLANG)
  file(GLOB parts ${CMAKE_CURRENT_SOURCE_DIR}/common/*.c ${CMAKE_CURRENT_SOURCE_DIR}/drivers/*.c
    ${CMAKE_CURRENT_SOURCE_DIR}/peer/*.c)
  add_custom_command(OUTPUT fuzz_benchdnn
    COMMAND ${CLANG} -g -O1 -std=gnu11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
      -I${CMAKE_CURRENT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_BINARY_DIR}/include
      ${fuzz}/fuzz_benchdnn.c ${parts} $<TARGET_FILE:dnnl_tp_static> -lm -lpthread -ldl -o fuzz_benchdnn
    DEPENDS ${fuzz}/fuzz_benchdnn.c ${parts} dnnl_tp_static VERBATIM)
  add_custom_target(build_fuzz_benchdnn DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/fuzz_benchdnn)
  add_test(NAME fuzz_benchdnn COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DTARGET=build_fuzz_benchdnn
    -DPROGRAM=${CMAKE_CURRENT_BINARY_DIR}/fuzz_benchdnn -DCORPUS=${fuzz}/corpus/benchdnn
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/corpus_benchdnn -DRUNS=20000 -P ${fuzz}/fuzz_run.cmake)
  set_tests_properties(fuzz_benchdnn PROPERTIES LABELS full TIMEOUT 900)
endif()

add_executable(benchdnn_control ${cases}/control.c)
target_include_directories(benchdnn_control PRIVATE ${PROJECT_SOURCE_DIR}/src) # kinds.inc
target_link_libraries(benchdnn_control PRIVATE benchdnn_core dnnl_tp_build_flags)
add_test(NAME benchdnn_control COMMAND benchdnn_control)
set_tests_properties(benchdnn_control PROPERTIES LABELS quick TIMEOUT ${quick_timeout})

# With the peer beside us, where scripts/get_peers or scripts/get_peer_onednn brought it: the smoke sets, and the
# harness checked on it. Else skipped.
function(peer_test name timeout)
  add_test(NAME benchdnn_peer_${name} COMMAND ${cases}/with_peer.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:benchdnn> ${ARGN})
  set_tests_properties(benchdnn_peer_${name} PROPERTIES LABELS full TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
endfunction()
foreach(driver IN LISTS drivers)
  peer_test(${driver} 900 --threads=1 --${driver} --batch=test_${driver}_smoke)
endforeach()
peer_test(itself 600 --subject=peer --threads=1 --matmul 17x33:33x35 3x17x64:3x64x19)
peer_test(duel 600 --mode=P --threads=1 --max-ms-per-prb=10 --matmul 64x64:64x64)
