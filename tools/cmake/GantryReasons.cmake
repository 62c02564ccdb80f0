# SPDX-License-Identifier: Apache-2.0
# gantry_write_reason_table(<page> <output>)
#
# Writes one line for each row of the table "Discovery of plugins" of sdk/REASONS.md:
#
#     | D210 | `ABI_RANGE` | disjoint version ranges | install ... | [HOST-4](ABI.md#duties-of-the-host) |
#     GANTRY_REASON(abi_range, 210, "ABI_RANGE", R"(disjoint ...)", R"(install ...)", "sdk/ABI.md#duties-of-the-host")
#
# The last cell may be empty, or the path of a page that is not one of the SDK: `configs/TRUST.md#digests`. core/base/reason.hpp and reason.cpp define the macro.
function(gantry_write_reason_table page output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
  file(READ "${page}" text)
  string(FIND "${text}" "\n| D" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${page}: no row begins with \"| D\"")
  endif()
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}\n\n" "\n\n" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  set(cell "([^|\n]+[^| \n])")
  string(REGEX REPLACE "\n\\| D([0-9]+) \\| `([A-Z0-9_]+)` \\| ${cell} \\| ${cell} \\| ([^|\n]*)\\|"
    "\nGANTRY_REASON(\\2, \\1, \"\\2\", R\"(\\3)\", R\"(\\4)\", \"\\5\")" rows "${text}")
  if(rows MATCHES "\n(\\|[^\n]*)")
    message(FATAL_ERROR "${page}: expected | number | reason | meaning | what to do | page |, found\n${CMAKE_MATCH_1}")
  endif()
  string(REPLACE "`" "" rows "${rows}")
  string(REGEX REPLACE "\"\\[[^\n\"]+\\]\\(([^\n\"]+)\\) \"" "\"sdk/\\1\"" rows "${rows}")
  string(REGEX REPLACE "\"(configs/[^\n\" ]+) \"" "\"\\1\"" rows "${rows}")
  string(REGEX MATCHALL "[A-Z0-9_]+, [0-9]+, \"" tags "${rows}")
  foreach(tag IN LISTS tags)
    string(REGEX REPLACE ",.*" "" tag "${tag}")
    string(TOLOWER "${tag}" name)
    string(REPLACE "(${tag}, " "(${name}, " rows "${rows}")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT "@rows@\n" @ONLY)
endfunction()
