# SPDX-License-Identifier: Apache-2.0
# Checks the output and the exit status of the demo:
#
#     cmake -DCASE=... -DPROGRAM=... -DGANTRY=... -DARTIFACT=... -DDEVICES=... -DDEMO=...
#           -DSCRATCH=... -P test.cmake
cmake_minimum_required(VERSION 3.25)
set(data "${DEMO}/data/images.npy" "${DEMO}/data/labels.npy")

set(ENV{XDG_CACHE_HOME} "${SCRATCH}/cache")

function(expect expected_status pattern)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} ${data} RESULT_VARIABLE status OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
  if(NOT status EQUAL expected_status OR NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "status is ${status}, expected ${expected_status} and \"${pattern}\":\n${text}")
  endif()
endfunction()

# The kinds of devices that this machine has drivers for.
execute_process(COMMAND "${GANTRY}" devices OUTPUT_VARIABLE listed ERROR_VARIABLE errors)
set(available "")
foreach(device IN LISTS DEVICES)
  if(listed MATCHES "(^|\n)${device}:0 ")
    list(APPEND available ${device})
  else()
    message(STATUS "no ${device} device on this machine:\n${errors}")
  endif()
endforeach()

if(CASE STREQUAL "digits")
  set(rows "\ncpu:0 +348 of 360 ")
  foreach(device opencl vulkan cuda)
    if(device IN_LIST available)
      string(APPEND rows "[^\n]*\n(.*\n)?${device}:0 +348 of 360 ")
    else()
      string(APPEND rows "[^\n]*\n(.*\n)?${device} +not available: ")
    endif()
  endforeach()
  expect(0 "${rows}" "${ARTIFACT}")
  execute_process(COMMAND "${PROGRAM}" "${ARTIFACT}" ${data} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  if(text MATCHES " \n")
    message(FATAL_ERROR "a line ends with a blank:\n${text}")
  endif()

  # Output that cannot be written is an error.
  execute_process(COMMAND "${PROGRAM}" "${ARTIFACT}" ${data} RESULT_VARIABLE status OUTPUT_FILE /dev/full
    ERROR_VARIABLE text)
  if(NOT status EQUAL 1 OR NOT text MATCHES "cannot write to stdout: No space left on device")
    message(FATAL_ERROR "on a full disk status is ${status}, expected 1 and the reason:\n${text}")
  endif()

elseif(CASE STREQUAL "without_plugins")
  set(ENV{GANTRY_DISABLE} "gantry.opencl:gantry.vulkan:gantry.cuda")
  expect(0 "\ncpu:0 +348 of 360 .*\nopencl +not available: [^\n]+\nvulkan +not available: [^\n]+\ncuda +not available: " "${ARTIFACT}")
  # The recipe states the devices, so that the kernels of the others may be missing.
  set(golden "${DEMO}/../../tests/golden/data/tvm-0.12")
  execute_process(COMMAND "${GANTRY}" run "${ARTIFACT}" --each --input "x=${golden}/digits_mlp.input.npz"
    --expect "${golden}/digits_mlp_llvm.expected.npz" --rtol 1e-4
    OUTPUT_QUIET ERROR_VARIABLE warnings COMMAND_ERROR_IS_FATAL ANY)
  foreach(key opencl vulkan cuda)
    if(NOT warnings MATCHES "warning: entry [0-9] \"${key}\" of digits.so is left out, because the model runs on cpu: ")
      message(FATAL_ERROR "no warning about ${key}:\n${warnings}")
    endif()
  endforeach()

elseif(CASE STREQUAL "aborting_driver")
  # A driver that ends its process takes its own row only.
  if(NOT opencl IN_LIST available)
    return()
  endif()
  file(WRITE "${SCRATCH}/aborts.c" "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n")
  execute_process(COMMAND cc -shared -fPIC -o "${SCRATCH}/aborts.so" "${SCRATCH}/aborts.c" COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${SCRATCH}/vendors/aborts.icd" "${SCRATCH}/aborts.so\n")
  set(ENV{OCL_ICD_VENDORS} "${SCRATCH}/vendors/")
  expect(0 "\ncpu:0 +348 of 360 .*\nopencl +not available: its driver has ended the process by signal 6 [^\n]+\nvulkan"
    "${ARTIFACT}")

elseif(CASE STREQUAL "other_kernels")
  # The kernels are wrong in the fourth digit: the outputs differ, and as many images are correct.
  file(COPY "${DEMO}/" DESTINATION "${SCRATCH}")
  foreach(source dense.cl dense.comp dense.cu)
    file(READ "${DEMO}/kernels/${source}" text)
    string(REPLACE "sums[0] + bias" "1.001f * sums[0] + bias" wrong "${text}")
    file(WRITE "${SCRATCH}/kernels/${source}" "${wrong}")
  endforeach()
  execute_process(COMMAND "${GANTRY}" pack "${SCRATCH}/digits.yaml" -o "${SCRATCH}/wrong.so"
    COMMAND_ERROR_IS_FATAL ANY)
  if(available)
    list(GET available 0 first)
    expect(1 "${first}:0: outputs differ from the CPU's by [0-9.e-]+, limit is 1e-04" "${SCRATCH}/wrong.so")
  else()
    expect(0 "\ncpu:0 +348 of 360 " "${SCRATCH}/wrong.so")
  endif()

elseif(CASE STREQUAL "like_tvm")
  # The inputs and outputs recorded with TVM for the same network.
  set(golden "${DEMO}/../../tests/golden/data/tvm-0.12")
  foreach(device cpu ${available})
    execute_process(COMMAND "${GANTRY}" run "${ARTIFACT}" --device ${device}:0 --each
      --input "x=${DEMO}/data/images.npy" --expect "${golden}/digits_mlp_llvm.expected.npz" --rtol 1e-4
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()

elseif(CASE STREQUAL "opencl_binary")
  # The kernels are compiled when the artifact is packed, and TVM's outputs are still those of the device.
  if(NOT opencl IN_LIST available)
    return()
  endif()
  file(COPY "${DEMO}/" DESTINATION "${SCRATCH}")
  file(READ "${DEMO}/digits.yaml" recipe)
  string(REPLACE "type_key: opencl" "type_key: opencl\n    code: compiled" recipe "${recipe}")
  file(WRITE "${SCRATCH}/digits.yaml" "${recipe}")
  execute_process(COMMAND "${GANTRY}" pack "${SCRATCH}/digits.yaml" -o "${SCRATCH}/binary.so" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${GANTRY}" inspect "${SCRATCH}/binary.so" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  if(NOT text MATCHES "clbin")
    message(FATAL_ERROR "the artifact has no binary:\n${text}")
  endif()
  set(golden "${DEMO}/../../tests/golden/data/tvm-0.12")
  execute_process(COMMAND "${GANTRY}" run "${SCRATCH}/binary.so" --device opencl:0 --each
    --input "x=${DEMO}/data/images.npy" --expect "${golden}/digits_mlp_llvm.expected.npz" --rtol 1e-4
    COMMAND_ERROR_IS_FATAL ANY)

elseif(CASE STREQUAL "no_glslang")
  set(ENV{GLSLANG} "no-such-glslang -q")
  execute_process(COMMAND "${GANTRY}" pack "${DEMO}/digits.yaml" -o "${ARTIFACT}.none" RESULT_VARIABLE status
    ERROR_VARIABLE text)
  if(NOT status EQUAL 1 OR EXISTS "${ARTIFACT}.none" OR NOT text MATCHES
      "program \"no-such-glslang\" cannot be started: .*\n +GLSL requires glslang: [^\n]*\n[^\n]*device_modules.1.[^\n]*\n")
    message(FATAL_ERROR "status is ${status}, expected 1 and the package to install:\n${text}")
  endif()

else()
  message(FATAL_ERROR "CASE is \"${CASE}\"")
endif()
