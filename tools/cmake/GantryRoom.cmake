# SPDX-License-Identifier: Apache-2.0
# gantry_room(<name> [ROOMS room...] [LIBRARIES target...] [EXCLUDE file...])
#
# One folder of core is one static target, gantry_<name>, of every *.cpp in the folder but EXCLUDE.
# ROOMS are the rooms whose headers it may include; tests/layers reads every #include against this table.
# LIBRARIES are third-party and private to the room.
function(gantry_room name)
  cmake_parse_arguments(room "" "" "ROOMS;LIBRARIES;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp")
  foreach(file IN LISTS room_EXCLUDE)
    list(REMOVE_ITEM sources "${CMAKE_CURRENT_SOURCE_DIR}/${name}/${file}")
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(gantry_${name} STATIC ${sources})
  target_include_directories(gantry_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(gantry_${name} PUBLIC gantry_sdk PRIVATE gantry_defaults ${room_LIBRARIES})
  foreach(other IN LISTS room_ROOMS)
    if(TARGET gantry_${other})
      target_link_libraries(gantry_${name} PUBLIC gantry_${other})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY GANTRY_ROOMS gantry_${name})
endfunction()
