# SPDX-License-Identifier: Apache-2.0
# Checks which ids the CMake functions of the SDK read from manifests, and the errors of what they refuse:
#
#     cmake -DSDK=... -DSCRATCH=... -P plugin_functions_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${SCRATCH}")

# expect(<succeeds> <text> <code>): code that includes the functions has this result, and prints the text
function(expect succeeds expected code)
  file(WRITE "${SCRATCH}/code.cmake" "include(\"${SDK}/cmake/GantryPlugin.cmake\")\n${code}\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" -P "${SCRATCH}/code.cmake" WORKING_DIRECTORY "${SCRATCH}"
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(FIND "${text}" "${expected}" at)
  if((succeeds AND NOT status EQUAL 0) OR (NOT succeeds AND status EQUAL 0) OR at EQUAL -1)
    message(SEND_ERROR "status is ${status}, expected \"${expected}\" from\n${code}\n${text}")
  endif()
endfunction()

# expect_id(<id or empty> <manifest>)
function(expect_id id manifest)
  file(WRITE "${SCRATCH}/npu.yaml.in" "${manifest}")
  set(code "gantry_plugin_id(id npu.yaml.in)\nmessage(\"the id is (\${id})\")")
  if(id)
    expect(TRUE "the id is (${id})" "${code}")
  else()
    string(REPLACE "\n" "" line "${manifest}")
    expect(FALSE "npu.yaml.in has the line \"${line}\", expected \"id: vendor.name\" in lower-case letters" "${code}")
  endif()
endfunction()

foreach(written "acme.npu" "\"acme.npu\"" "'acme.npu'" "acme.npu  " "  acme.npu" "acme.npu\t# since 2026" "\"acme.npu\" #")
  expect_id(acme.npu "schema: \"1.0\"\nid: ${written}\nvendor: acme\n")
endforeach()
expect_id(acme.npu-2.x "id: acme.npu-2.x")
foreach(written acme_npu acme.npu_2 Acme.npu acme.NPU acme acme. .npu acme..npu "acme.npu 2" "acme.npu#2" "" "#")
  expect_id("" "id: ${written}\n")
endforeach()
file(WRITE "${SCRATCH}/npu.yaml.in" "vendor: acme\nplugin: {id: acme.npu}\n")
expect(FALSE "npu.yaml.in has no line \"id: vendor.name\"" "gantry_plugin_id(id npu.yaml.in)")

foreach(arguments "" "MIN_MINOR 2" "MANIFEST")
  expect(FALSE "gantry_plugin_definitions(npu) has no MANIFEST, expected gantry_plugin_definitions(npu MANIFEST file.yaml.in)"
    "gantry_plugin_definitions(npu ${arguments})")
endforeach()
