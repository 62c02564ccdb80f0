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

# bin, lib and share/gantry/plugins.d lie beside each other as after an install: plugin search tier 8
# then works without installing.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(GANTRY_PLUGIN_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/share/gantry/plugins.d")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

add_library(gantry_defaults INTERFACE)
target_compile_options(gantry_defaults INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<$<BOOL:${GANTRY_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 sees overlapping copies in std::string's own code (gcc bug 105651).
  target_compile_options(gantry_defaults INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_link_options(gantry_defaults INTERFACE -Wl,--as-needed)
if(GANTRY_SANITIZE)
  target_compile_options(gantry_defaults INTERFACE -fsanitize=${GANTRY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(gantry_defaults INTERFACE -fsanitize=${GANTRY_SANITIZE})
endif()

# Most of what a file costs the compiler are its headers, which are the same in all files of a target: a third of the time
# where six are compiled as one. Ordinary builds compile the core and the plugins file by file, so that one that forgets
# a header is found. OFF while working on one file.
option(GANTRY_TOGETHER "compile the command and test programs, and under sanitizers everything, six files at a time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
if(GANTRY_SANITIZE)
  set(CMAKE_UNITY_BUILD ${GANTRY_TOGETHER})
endif()
# A file's own helper may be called like the local variable of another, and gcc takes all of them for included headers.
set(together $<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>)
target_compile_options(gantry_defaults INTERFACE $<${together}:-Wno-shadow>
  $<$<AND:${together},$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage>)

# For set_tests_properties of tests in which devices' drivers run. They keep their compilers for the life of the process, and
# the Vulkan loader unmaps them before that: nobody can say whose a leak is; threads of theirs that end while the leak checker
# looks end the checker (gcc 12).
set(GANTRY_WITH_DRIVERS "")
if(GANTRY_SANITIZE)
  set(GANTRY_WITH_DRIVERS ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
