# SPDX-License-Identifier: Apache-2.0
# gantry_embed_text(<target> <file> <name>): compiles into the target the text of a file, as
# `extern const std::string_view <name>` in namespace gantry.
function(gantry_embed_text target file name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  if(text MATCHES "\\)gantry\"")
    message(FATAL_ERROR "${file} has the delimiter of the literal")
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/generated/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
    "#include <string_view>\nnamespace gantry {\nextern const std::string_view @name@;\nconst std::string_view @name@ = R\"gantry(@text@)gantry\";\n}\n")
  target_sources(${target} PRIVATE "${source}")
endfunction()
