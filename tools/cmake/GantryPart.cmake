# SPDX-License-Identifier: Apache-2.0
# gantry_part(<component>[/<part>] [PARTS <component>[/<part>]...] [LIBRARIES target...])
#
# Adds the static library gantry_<part> from every *.cpp below the directory; of a component itself, gantry_<component> from every
# *.cpp in its directory.
#
#   PARTS       parts whose headers it may include, besides core/base itself; tests/layers checks every #include against this list
#   LIBRARIES   third-party libraries, linked privately
function(gantry_part path)
  cmake_parse_arguments(part "" "" "PARTS;LIBRARIES" ${ARGN})
  get_filename_component(name "${path}" NAME)
  if(name STREQUAL path)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${path}/*.cpp")
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${path}/*.cpp")
  endif()
  add_library(gantry_${name} STATIC ${sources})
  target_include_directories(gantry_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(gantry_${name} PUBLIC gantry_sdk PRIVATE gantry_defaults ${part_LIBRARIES})
  if(NOT name STREQUAL "base")
    target_link_libraries(gantry_${name} PUBLIC gantry_base)
  endif()
  foreach(other IN LISTS part_PARTS)
    get_filename_component(other "${other}" NAME)
    target_link_libraries(gantry_${name} PUBLIC gantry_${other})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY GANTRY_PARTS gantry_${name})
endfunction()
