# SPDX-License-Identifier: Apache-2.0
# gantry_add_plugin(<name> SOURCES file... [LIBRARIES target...] [MANIFEST file.yaml.in] [MIN_MINOR n]
#   [NO_INSTALL])
#
# Builds libgantry_<name>.so with the linker options that the core requires of a plugin: one exported
# symbol, nothing unresolved, no executable stack, bound at load. Library and manifest are placed in a
# directory of their own, <plugins.d>/<name>/{<name>.yaml,libgantry_<name>.so}: removing the directory
# removes the plugin. Group and others may not write to them, nor to the directories of the build that lead to them,
# because the core uses no plugin that others can change. In the manifest @PROJECT_VERSION@, @GANTRY_PLUGIN_LIBRARY@ and
# @GANTRY_PLUGIN_ABI@ are replaced.
#
# It is installed in three ways. The component plugin-<name> is the same directory, below
# <prefix>/share/gantry/plugins.d. The component system-<name>, which only packages use, installs the library as
# <prefix>/<libdir>/gantry/plugins.d/<id>/libgantry_<name>.so and the manifest, with the absolute path of the
# library, as <prefix>/share/gantry/plugins.d/<id>.<architecture>.yaml. The component wheel-<name>, which exists when
# scikit-build-core makes a wheel for Python, is the directory share/gantry/plugins.d/<id> of the wheel's data files,
# which pip installs into the environment. Each installed manifest has the digest of its library, and a signature beside it
# if the environment variable GANTRY_SIGN_KEY names a secret key of minisign (InstallManifest.cmake).
#
# MIN_MINOR is the oldest minor of the ABI with which the plugin works; default 0. The newest is that
# of the SDK. Both numbers reach the code as GANTRY_PLUGIN_ABI and the manifest as @GANTRY_PLUGIN_ABI@.
# The id of the manifest reaches the code as GANTRY_PLUGIN_ID, the version of the project as
# GANTRY_PLUGIN_VERSION.
include(GNUInstallDirs)
set(GANTRY_PLUGIN_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")

# The ABI of this SDK: beside this file in the source tree, in <prefix>/include where it is installed.
find_file(GANTRY_ABI_HEADER gantry/abi.h PATHS "${CMAKE_CURRENT_LIST_DIR}/../include"
  "${CMAKE_CURRENT_LIST_DIR}/../../../include" NO_DEFAULT_PATH NO_CACHE REQUIRED)
foreach(number MAJOR MINOR)
  file(STRINGS "${GANTRY_ABI_HEADER}" line REGEX "^#define GANTRY_ABI_${number} [0-9]+u$")
  string(REGEX MATCH "[0-9]+" GANTRY_ABI_${number} "${line}")
endforeach()

# gantry_plugin_id(<variable> <file.yaml.in>): the id that a manifest states.
function(gantry_plugin_id variable file)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  file(STRINGS "${file}" line REGEX "^id: ")
  string(CONFIGURE "${line}" line @ONLY)
  if(line STREQUAL "")
    message(FATAL_ERROR "${file} has no line \"id: vendor.name\"")
  endif()
  if(NOT line MATCHES "^id:[ \t]+[\"']?([a-z0-9]+([.-][a-z0-9]+)+)[\"']?([ \t]+#.*)?[ \t]*$")
    message(FATAL_ERROR "${file} has the line \"${line}\", expected \"id: vendor.name\" in lower-case letters, digits,"
      " \".\" and \"-\"")
  endif()
  set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# gantry_plugin_definitions(<target> MANIFEST file.yaml.in [MIN_MINOR n]): what gantry_add_plugin() defines, for a
# library that is compiled into a plugin, and for what links it.
function(gantry_plugin_definitions target)
  cmake_parse_arguments(plugin "" "MANIFEST;MIN_MINOR" "" ${ARGN})
  if(NOT plugin_MIN_MINOR)
    set(plugin_MIN_MINOR 0)
  endif()
  if(NOT plugin_MANIFEST)
    message(FATAL_ERROR "gantry_plugin_definitions(${target}) has no MANIFEST, expected gantry_plugin_definitions(${target}"
      " MANIFEST file.yaml.in)")
  endif()
  gantry_plugin_id(id "${plugin_MANIFEST}")
  target_compile_definitions(${target} PUBLIC GANTRY_PLUGIN_MIN_MINOR=${plugin_MIN_MINOR}u GANTRY_PLUGIN_ID="${id}"
    GANTRY_PLUGIN_VERSION="${PROJECT_VERSION}")
endfunction()

function(gantry_add_plugin name)
  cmake_parse_arguments(plugin "NO_INSTALL" "MANIFEST;MIN_MINOR" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT plugin_MANIFEST)
    set(plugin_MANIFEST "${name}.yaml.in")
  endif()
  if(NOT GANTRY_PLUGIN_OUTPUT_DIRECTORY)
    set(GANTRY_PLUGIN_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/share/gantry/plugins.d")
  endif()
  set(target gantry_plugin_${name})
  set(directory "${GANTRY_PLUGIN_OUTPUT_DIRECTORY}/${name}")
  add_library(${target} MODULE ${plugin_SOURCES})
  if(NOT plugin_MIN_MINOR)
    set(plugin_MIN_MINOR 0)
  endif()
  gantry_plugin_definitions(${target} MANIFEST "${plugin_MANIFEST}" MIN_MINOR ${plugin_MIN_MINOR})
  set(GANTRY_PLUGIN_ABI "{major: ${GANTRY_ABI_MAJOR}, min_minor: ${plugin_MIN_MINOR}, max_minor: ${GANTRY_ABI_MINOR}}")
  set(GANTRY_PLUGIN_LIBRARY "libgantry_${name}.so")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME gantry_${name} LIBRARY_OUTPUT_DIRECTORY "${directory}"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  # A vendor's project may be C alone, so the SDK's target itself requires no C++.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    target_compile_features(${target} PRIVATE c_std_11)
  endif()
  if("CXX" IN_LIST languages)
    target_compile_features(${target} PRIVATE cxx_std_20)
  endif()
  if(TARGET gantry_sdk)
    target_link_libraries(${target} PRIVATE gantry_sdk)
  else()
    target_link_libraries(${target} PRIVATE gantry::sdk)
  endif()
  if(TARGET gantry_defaults)
    target_link_libraries(${target} PRIVATE gantry_defaults)
  endif()
  target_link_libraries(${target} PRIVATE ${plugin_LIBRARIES})
  set(exports "${GANTRY_PLUGIN_CMAKE_DIR}/plugin_exports.map")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}" -Wl,-Bsymbolic-functions
    -Wl,--exclude-libs,ALL -Wl,-z,now,-z,noexecstack,-z,relro)
  # clang's sanitizer runtime is resolved from the executable, which -z defs refuses.
  if(NOT GANTRY_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  # The manifest is placed beside the library when the library is built: a host that finds a manifest
  # without a library reports a broken plugin.
  set(manifest "${CMAKE_CURRENT_BINARY_DIR}/${name}.yaml")
  configure_file("${plugin_MANIFEST}" "${manifest}" @ONLY)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${exports};${manifest}")
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${manifest}" "${directory}/${name}.yaml")
  gantry_protect_plugin(${target} "${directory}" "${directory}/${name}.yaml")
  if(NOT plugin_NO_INSTALL)
    gantry_plugin_id(id "${plugin_MANIFEST}")
    set(directory share/gantry/plugins.d/${name})
    gantry_install_plugin(${name} COMPONENT plugin-${name} LIBRARY "${directory}" MANIFEST "${directory}/${name}.yaml")
    # The directory of packages, wherever this build would be installed without one.
    set(libraries "${CMAKE_INSTALL_LIBDIR}")
    if(CMAKE_LIBRARY_ARCHITECTURE)
      set(libraries "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
    endif()
    gantry_install_plugin(${name} COMPONENT system-${name} IS_ABSOLUTE EXCLUDE_FROM_ALL
      LIBRARY "${libraries}/gantry/plugins.d/${id}"
      MANIFEST "share/gantry/plugins.d/${id}.${CMAKE_SYSTEM_PROCESSOR}.yaml")
    if(SKBUILD)
      set(directory "${SKBUILD_DATA_DIR}/share/gantry/plugins.d/${id}")
      gantry_install_plugin(${name} COMPONENT wheel-${name} EXCLUDE_FROM_ALL
        LIBRARY "${directory}" MANIFEST "${directory}/${name}.yaml")
    endif()
    set(GANTRY_PLUGIN_ID_${name} "${id}" PARENT_SCOPE)
    set(GANTRY_PLUGIN_MIN_MINOR_${name} "${plugin_MIN_MINOR}" PARENT_SCOPE)
  endif()
endfunction()

# gantry_protect_plugin(<target> <directory> <manifest>): with a umask of 002 the compiler and CMake make files and
# directories that their group may write to. This build of gantry itself needs no change: its core accepts who can
# write to the build.
function(gantry_protect_plugin target directory manifest)
  if(TARGET gantry_sdk)
    return()
  endif()
  set(paths "${manifest}" "${directory}")
  cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${directory}" NORMALIZE is_in_build)
  while(is_in_build AND NOT directory STREQUAL CMAKE_BINARY_DIR)
    cmake_path(GET directory PARENT_PATH directory)
    list(APPEND paths "${directory}")
  endwhile()
  # A failure is ignored: a directory of another user, or a file system without modes. `gantry plugins doctor` names
  # what the core refuses.
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND sh -c "chmod go-w \"$@\" 2>/dev/null || :" sh "$<TARGET_FILE:${target}>" ${paths})
endfunction()

# gantry_install_plugin(<name> COMPONENT <component> LIBRARY <directory> MANIFEST <file> [IS_ABSOLUTE]
#   [EXCLUDE_FROM_ALL]): one way of installing a plugin. The script follows the rule of the library, which strips it where
# that is required (`cmake --install --strip`, cpack, wheels). Plugins of gantry itself have a digest only if they are
# signed: the core would read every library that it opens for it.
function(gantry_install_plugin name)
  cmake_parse_arguments(install "IS_ABSOLUTE;EXCLUDE_FROM_ALL" "COMPONENT;LIBRARY;MANIFEST" "" ${ARGN})
  set(rule COMPONENT ${install_COMPONENT})
  if(install_EXCLUDE_FROM_ALL)
    list(APPEND rule EXCLUDE_FROM_ALL)
  endif()
  set(has_digest TRUE)
  if(TARGET gantry_sdk)
    set(has_digest FALSE)
  endif()
  install(TARGETS gantry_plugin_${name} LIBRARY DESTINATION "${install_LIBRARY}" ${rule})
  install(CODE "set(manifest \"${CMAKE_CURRENT_BINARY_DIR}/${name}.yaml\")
set(library \"${install_LIBRARY}/libgantry_${name}.so\")
set(installed \"${install_MANIFEST}\")
set(is_absolute ${install_IS_ABSOLUTE})
set(has_digest ${has_digest})" ${rule})
  install(SCRIPT "${GANTRY_PLUGIN_CMAKE_DIR}/InstallManifest.cmake" ${rule})
endfunction()

# gantry_package_plugin(<name> CONTACT "name <address>"): `cpack` makes a Debian package of the component
# system-<name>, gantry-plugin-<id>_<version>_<architecture>.deb, which any core with this ABI accepts. For the only
# plugin of a project, after gantry_add_plugin() in the same directory. cpack requires dpkg-shlibdeps and file. The manifest
# in it has the digest of the library, and is signed with GANTRY_SIGN_KEY, as gantry_add_plugin() describes. A file of the
# project, CPACK_PROJECT_CONFIG_FILE, is set before and is run first.
function(gantry_package_plugin name)
  cmake_parse_arguments(package "" "CONTACT" "" ${ARGN})
  string(REPLACE "." "-" id "${GANTRY_PLUGIN_ID_${name}}")
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME "gantry-plugin-${id}")
  set(CPACK_PACKAGE_CONTACT "${package_CONTACT}")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "gantry plugin ${GANTRY_PLUGIN_ID_${name}}")
  set(CPACK_COMPONENTS_ALL system-${name})
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  # The manifest has the library's path without the staging directory.
  set(CPACK_SET_DESTDIR ON)
  set(CPACK_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  # Whatever the umask is: the core uses nothing that a group may write to.
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
  set(CPACK_GANTRY_PROJECT_CONFIG_FILE "${CPACK_PROJECT_CONFIG_FILE}")
  set(CPACK_PROJECT_CONFIG_FILE "${GANTRY_PLUGIN_CMAKE_DIR}/CheckPackageTools.cmake")
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "gantry-abi-${GANTRY_ABI_MAJOR} (>= ${GANTRY_ABI_MAJOR}.${GANTRY_PLUGIN_MIN_MINOR_${name}})")
  include(CPack)
endfunction()
