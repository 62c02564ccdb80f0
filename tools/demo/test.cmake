# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=... -DARTIFACT=... -DDATA=... -P test.cmake: the demo's answer and its exit status.
set(command "${PROGRAM}" "${ARTIFACT}" "${DATA}/images.npy" "${DATA}/labels.npy")

execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE text)
if(NOT status EQUAL 0 OR NOT text MATCHES "348 of 360 right")
  message(FATAL_ERROR "status is ${status}, expected 0 and 348 of 360 right:\n${text}")
endif()

# An answer that cannot be written is none.
execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_FILE /dev/full ERROR_VARIABLE text)
if(NOT status EQUAL 1 OR NOT text MATCHES "cannot write to stdout: No space left on device")
  message(FATAL_ERROR "on a full disk status is ${status}, expected 1 and the reason:\n${text}")
endif()
