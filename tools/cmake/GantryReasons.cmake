# SPDX-License-Identifier: Apache-2.0
# gantry_write_reason_table(<page> <output>)
#
# Writes one C++ initializer for each row of the table "Discovery of plugins" of sdk/REASONS.md:
#
#     | D210 | `ABI_RANGE` | disjoint version ranges | install ... |
#     {{210, "ABI_RANGE"}, R"(disjoint version ranges)", R"(install ...)"},
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
  string(REGEX REPLACE "\n\\| D([0-9]+) \\| `([A-Z0-9_]+)` \\| ${cell} \\| ${cell} \\|"
    "\n{{\\1, \"\\2\"}, R\"(\\3)\", R\"(\\4)\"}," rows "${text}")
  if(rows MATCHES "\n(\\|[^\n]*)")
    message(FATAL_ERROR "${page}: expected | number | reason | meaning | what to do |, found\n${CMAKE_MATCH_1}")
  endif()
  string(REPLACE "`" "" rows "${rows}")
  file(CONFIGURE OUTPUT "${output}" CONTENT "@rows@\n" @ONLY)
endfunction()
