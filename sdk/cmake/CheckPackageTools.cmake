# SPDX-License-Identifier: Apache-2.0
# Run by `cpack` at its beginning. Without these programs cpack only warns, and the package does not depend on the libraries
# that its plugin needs.
if(CPACK_DEBIAN_PACKAGE_SHLIBDEPS)
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
