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
