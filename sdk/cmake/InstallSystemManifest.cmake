# SPDX-License-Identifier: Apache-2.0
# Run by `cmake --install`: writes a plugin's manifest with the absolute path of its library.
#
#   manifest     built manifest, in which the library is a name
#   name         name of the installed file: acme.npu.x86_64.yaml
#   library      installed library, below the prefix
set(prefix "${CMAKE_INSTALL_PREFIX}")
file(READ "${manifest}" text)
string(REGEX REPLACE "(^|\n)library: *[^\n]*" "\\1library: ${prefix}/${library}" text "${text}")
set(directory "$ENV{DESTDIR}${prefix}/share/gantry/plugins.d")
message(STATUS "Installing: ${directory}/${name}")
file(MAKE_DIRECTORY "${directory}")
file(WRITE "${directory}/${name}" "${text}")
file(CHMOD "${directory}/${name}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
