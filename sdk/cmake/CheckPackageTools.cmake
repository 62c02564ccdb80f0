# SPDX-License-Identifier: Apache-2.0
# Run by `cpack` at the beginning of each package, which CPACK_GENERATOR names, after the file that the project itself has set as
# CPACK_PROJECT_CONFIG_FILE. Without these programs cpack only warns, and a Debian package does not depend on the libraries that
# its plugin needs.
if(CPACK_GANTRY_PROJECT_CONFIG_FILE)
  include("${CPACK_GANTRY_PROJECT_CONFIG_FILE}")
endif()
if(CPACK_GENERATOR STREQUAL "DEB" AND CPACK_DEBIAN_PACKAGE_SHLIBDEPS)
  foreach(required "dpkg-shlibdeps:dpkg-dev" "file:file")
    string(REGEX MATCH "^[^:]+" program "${required}")
    string(REGEX MATCH "[^:]+$" package "${required}")
    find_program(path "${program}" NO_CACHE)
    if(NOT path)
      message(FATAL_ERROR "${program} is not installed, with which cpack finds the libraries that the package depends on:"
        " apt-get install ${package}")
    endif()
    unset(path)
  endforeach()
endif()
