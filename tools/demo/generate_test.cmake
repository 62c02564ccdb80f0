# SPDX-License-Identifier: Apache-2.0
# Checks the output and the exit status of gantry-demo-generate:
#
#     cmake -DPROGRAM=... -DMODEL=... -P generate_test.cmake
cmake_minimum_required(VERSION 3.25)

function(generate weights result)
  execute_process(COMMAND "${PROGRAM}" "${MODEL}/lm_paged_llvm.so" "${weights}" 40 RESULT_VARIABLE status
    OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${result} "${status}: ${text}" PARENT_SCOPE)
endfunction()

generate("${MODEL}/lm_paged.weights" first)
string(REPEAT "[0-9]+ " 40 numbers)
if(NOT first MATCHES "^0: (${numbers})\n40 tokens, [0-9]+ tokens a second\n$")
  message(FATAL_ERROR "40 tokens are expected:\n${first}")
endif()
set(tokens "${CMAKE_MATCH_1}")
string(REPLACE " " ";" list "${tokens}")
list(REMOVE_DUPLICATES list)
list(LENGTH list different)
if(different LESS 10)
  message(FATAL_ERROR "the tokens do not differ:\n${tokens}")
endif()

generate("${MODEL}/lm_paged.weights" second)
if(NOT second MATCHES "^0: ${tokens}")
  message(FATAL_ERROR "a second run generates other tokens:\n${first}${second}")
endif()

generate("${MODEL}" none)
if(NOT none MATCHES "^1: .*has no index of weights")
  message(FATAL_ERROR "a directory without weights is an error:\n${none}")
endif()
