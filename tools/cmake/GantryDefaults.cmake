# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers, and a build tree that mirrors the install tree.
set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# ccache, where it is installed, is the compilers' launcher. Paths below the sources are relative in its keys, so that a
# clone in another directory finds what this one has compiled. A build directory keeps what its first configuration found:
# another launcher compiles everything again, and the tests' packages, which include ccache, are installed after the demo is built.
if(NOT DEFINED CACHE{GANTRY_CCACHE})
  find_program(GANTRY_CCACHE ccache)
endif()
if(GANTRY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${GANTRY_CCACHE}")
  endforeach()
endif()

# bin, lib and share/gantry/plugins.d have the same relative paths as after an install, so that
# plugins are found in the build tree (the own prefix, sdk/MANIFEST.md).
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(GANTRY_PLUGIN_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/share/gantry/plugins.d")
set(GANTRY_PYTHON_PACKAGE "${CMAKE_BINARY_DIR}/lib/python/site-packages/gantry")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

add_library(gantry_defaults INTERFACE)
target_compile_options(gantry_defaults INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<$<BOOL:${GANTRY_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlapping copies in std::string's own code (GCC bug 105651).
  target_compile_options(gantry_defaults INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# gantry_optimize_linked()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_link_options(gantry_defaults INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:GANTRY_OPTIMIZE_LINKED>>>:-fno-lto>)
endif()
# A section for each function, as in libstdc++.a: a program contains those that it uses.
target_compile_options(gantry_defaults INTERFACE $<$<CONFIG:Release>:-ffunction-sections;-fdata-sections>)
target_link_options(gantry_defaults INTERFACE -Wl,--as-needed$<$<CONFIG:Release>:,--gc-sections>)
if(GANTRY_SANITIZE)
  target_compile_options(gantry_defaults INTERFACE -fsanitize=${GANTRY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(gantry_defaults INTERFACE -fsanitize=${GANTRY_SANITIZE}
    # Tables of the sanitizers contain a million addresses, which position-independent programs relocate when they start.
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  # 170 programs contain most of the core; nothing of these builds is installed.
  find_program(GANTRY_LLD ld.lld)
  if(GANTRY_LLD)
    target_link_options(gantry_defaults INTERFACE -fuse-ld=lld)
  endif()
endif()

# Most of the compile time of a file is spent on headers, which are the same in all files of a target: a unity build of 24 files at
# a time takes a quarter of the time (of twelve in test programs, so that two CPUs share a program). Set the option to OFF while
# working on one file, and before a change of what a header includes.
option(GANTRY_TOGETHER "compile many files at a time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
set(CMAKE_UNITY_BUILD ${GANTRY_TOGETHER})
# In a unity build, a helper function of one file may have the name of a local variable in another
# file (-Wshadow), and GCC treats the sources as included headers (-Wsubobject-linkage). Local variables
# that hide each other are found in release builds, which compile no macros of GoogleTest.
set(unity $<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>)
target_compile_options(gantry_defaults INTERFACE $<${unity}:-Wno-shadow>
  $<$<AND:${unity},$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage>
  $<$<AND:${unity},$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wshadow=local>)

# gantry_optimize_linked(OBJECTS library... IN target...)
#
# Optimizes the objects of libraries again when the targets are linked, in releases: functions that one file calls in another
# are inlined. For the components through which every call passes and for the plugins of virtual machines, in which a count of
# tests/bench/instructions pays for the time; without it, a run of the AOT executor takes 28 % more instructions, a call of the
# ffi dialect 9 %, an operator of a graph 7 %, a call of the Relay machine 7 %, a run of the Relax machine 4 %, a decode step 3 %.
# Format, runtime, plugin and embed with it, too: loading 1,000 modules 3 % less, for 30 s more in each of four links. The objects
# contain code, too, for all other programs, which are linked without. One process needs no `make`. Not gantry_base: its archive's
# index names an inline function that only the optimized link contains, for which ld takes a member twice where the archive is
# named twice.
function(gantry_optimize_linked)
  cmake_parse_arguments(linked "" "" "OBJECTS;IN" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR GANTRY_SANITIZE)
    return()
  endif()
  foreach(library IN LISTS linked_OBJECTS)
    target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-flto=1;-ffat-lto-objects>)
  endforeach()
  foreach(target IN LISTS linked_IN)
    set_target_properties(${target} PROPERTIES GANTRY_OPTIMIZE_LINKED ON)
    target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-flto=1;-flto-partition=one>)
  endforeach()
endfunction()

# For set_tests_properties of tests that load device drivers. Drivers keep their compilers until the
# process exits, and the Vulkan loader unmaps the drivers before that, so leaks cannot be
# attributed. Driver threads that exit during the leak check crash the leak checker (GCC 12).
set(GANTRY_WITH_DRIVERS "")
if(GANTRY_SANITIZE)
  set(GANTRY_WITH_DRIVERS ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
