# SPDX-License-Identifier: Apache-2.0
# Install rules, and the package for find_package(gantry): gantry::sdk (headers and
# gantry_add_plugin(), for vendors) and gantry::gantry (the core, for embedders).
#
# `cmake --install build --component sdk` installs everything that a vendor needs and nothing of the
# core. Its pages have the same relative paths as in the sources, so that their links work in both.
include(CMakePackageConfigHelpers)
set(package_dir lib/cmake/gantry)
configure_package_config_file(tools/cmake/gantryConfig.cmake.in "${CMAKE_BINARY_DIR}/gantryConfig.cmake"
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/gantryConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)

install(TARGETS gantry_sdk EXPORT gantrySdkTargets)
install(EXPORT gantrySdkTargets NAMESPACE gantry:: DESTINATION ${package_dir} COMPONENT sdk)
install(FILES "${CMAKE_BINARY_DIR}/gantryConfig.cmake" "${CMAKE_BINARY_DIR}/gantryConfigVersion.cmake"
  sdk/cmake/GantryPlugin.cmake sdk/cmake/plugin_exports.map DESTINATION ${package_dir} COMPONENT sdk)
install(DIRECTORY sdk/include/ sdk/cxx/ DESTINATION include COMPONENT sdk
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY sdk/template sdk/example DESTINATION share/gantry/sdk COMPONENT sdk)
install(FILES LICENSE sdk/README.md sdk/ABI.md sdk/MANIFEST.md sdk/REASONS.md DESTINATION share/gantry/sdk COMPONENT sdk)

# The core, and the documents for deployment engineers on hosts without the sources.
if(TARGET gantry)
  install(DIRECTORY core/runtime/include/ DESTINATION include)
  install(TARGETS gantry EXPORT gantryTargets LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
  install(EXPORT gantryTargets NAMESPACE gantry:: DESTINATION ${package_dir})
endif()
install(FILES LICENSE core/pack/RECIPE.md core/format/FORMAT.md DESTINATION share/doc/gantry)
