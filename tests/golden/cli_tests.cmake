# SPDX-License-Identifier: Apache-2.0
# The command line as a user runs it: the built program, golden files, expected texts.
if(TARGET gantry_cli)
  foreach(name inspect status)
    set(label golden)
    if(name STREQUAL "status")
      set(label cli)
    endif()
    gantry_add_test(cli_${name} LABEL ${label}
      SOURCES cli_${name}_test.cpp cli_command.cpp)
    add_dependencies(cli_${name} gantry_cli)
  endforeach()
endif()
