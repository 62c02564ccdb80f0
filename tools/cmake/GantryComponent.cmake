# SPDX-License-Identifier: Apache-2.0
# gantry_component(<name> [COMPONENTS component...] [LIBRARIES target...])
#
# Adds the static library gantry_<name> from every *.cpp below the directory <name>.
#
#   COMPONENTS  components whose headers it may include, besides core/base; tests/layers checks
#               every #include against this list
#   LIBRARIES   third-party libraries, linked privately
function(gantry_component name)
  cmake_parse_arguments(component "" "" "COMPONENTS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp")
  add_library(gantry_${name} STATIC ${sources})
  target_include_directories(gantry_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(gantry_${name} PUBLIC gantry_sdk PRIVATE gantry_defaults ${component_LIBRARIES})
  if(NOT name STREQUAL "base")
    target_link_libraries(gantry_${name} PUBLIC gantry_base)
  endif()
  foreach(other IN LISTS component_COMPONENTS)
    target_link_libraries(gantry_${name} PUBLIC gantry_${other})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY GANTRY_COMPONENTS gantry_${name})
endfunction()
