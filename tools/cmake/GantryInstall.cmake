# SPDX-License-Identifier: Apache-2.0
# Install rules by component. `cmake --install build --component NAME` installs one, without NAME all:
#
#   core           libgantry.so.N, the probe program, configs/ without the examples of manifests, licence
#   plugin-NAME    one plugin in a directory of its own (GantryPlugin.cmake)
#   tools          the command line, its pages
#   sdk            what a vendor needs, nothing of the core: headers, find_package(gantry-sdk), template, pages
#   dev            what an embedder needs besides core and sdk: headers, find_package(gantry), gantry.pc
#
# The pages of the SDK have the same relative paths as in the sources, so that their links work in both.
include(CMakePackageConfigHelpers)

# gantry_install_package(NAME DIRECTORY COMPONENT [option...]): the files of find_package(NAME).
function(gantry_install_package name directory component)
  configure_package_config_file("tools/cmake/${name}Config.cmake.in" "${CMAKE_BINARY_DIR}/${name}Config.cmake"
    INSTALL_DESTINATION "${directory}")
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/${name}ConfigVersion.cmake" COMPATIBILITY SameMajorVersion
    ${ARGN})
  install(FILES "${CMAKE_BINARY_DIR}/${name}Config.cmake" "${CMAKE_BINARY_DIR}/${name}ConfigVersion.cmake"
    DESTINATION "${directory}" COMPONENT ${component})
endfunction()

# gantry_install_pkg_config(NAME DIRECTORY COMPONENT): NAME.pc, with a prefix relative to its own place.
function(gantry_install_pkg_config name directory component)
  file(RELATIVE_PATH GANTRY_PREFIX_FROM_PC "/${directory}" "/")
  string(REGEX REPLACE "/$" "" GANTRY_PREFIX_FROM_PC "${GANTRY_PREFIX_FROM_PC}")
  configure_file("tools/cmake/${name}.pc.in" "${CMAKE_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/${name}.pc" DESTINATION "${directory}" COMPONENT ${component})
endfunction()

set(sdk_package share/cmake/gantry-sdk)
gantry_install_package(gantry-sdk ${sdk_package} sdk ARCH_INDEPENDENT)
# Beside gantry.pc, which requires it: PKG_CONFIG_PATH is one directory.
gantry_install_pkg_config(gantry-sdk ${CMAKE_INSTALL_LIBDIR}/pkgconfig sdk)
install(TARGETS gantry_sdk EXPORT gantrySdkTargets)
install(EXPORT gantrySdkTargets NAMESPACE gantry:: DESTINATION ${sdk_package} COMPONENT sdk)
install(FILES sdk/cmake/GantryPlugin.cmake sdk/cmake/InstallManifest.cmake sdk/cmake/CheckPackageTools.cmake
  sdk/cmake/plugin_exports.map DESTINATION ${sdk_package} COMPONENT sdk)
install(DIRECTORY sdk/include/ sdk/cxx/ DESTINATION include COMPONENT sdk
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY sdk/template sdk/example sdk/example_executor sdk/embed DESTINATION share/gantry/sdk COMPONENT sdk)
install(PROGRAMS sdk/wheel/write-digests DESTINATION share/gantry/sdk/wheel COMPONENT sdk)
install(FILES LICENSE sdk/README.md sdk/TUTORIAL.md sdk/ABI.md sdk/EMBED.md sdk/MANIFEST.md sdk/REASONS.md
  sdk/CONFORMANCE.md sdk/EXECUTORS.md
  DESTINATION share/gantry/sdk COMPONENT sdk)

set(dev_package ${CMAKE_INSTALL_LIBDIR}/cmake/gantry)
gantry_install_package(gantry ${dev_package} dev)
gantry_install_pkg_config(gantry ${CMAKE_INSTALL_LIBDIR}/pkgconfig dev)
install(TARGETS gantry EXPORT gantryTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core NAMELINK_COMPONENT dev)
install(TARGETS gantry_system_library EXPORT gantryTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
gantry_install_pkg_config(gantry-system-library ${CMAKE_INSTALL_LIBDIR}/pkgconfig dev)
install(EXPORT gantryTargets NAMESPACE gantry:: DESTINATION ${dev_package} COMPONENT dev)

install(FILES LICENSE DESTINATION share/doc/gantry COMPONENT core)
# The documents for deployment engineers on hosts without the sources.
install(FILES core/writing/RECIPE.md core/formats/FORMAT.md DESTINATION share/doc/gantry COMPONENT tools)
