# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down, and the package that find_package(gantry) finds:
# gantry::sdk (headers, for vendors) and gantry::gantry (the core, for embedders).
include(CMakePackageConfigHelpers)
set(package_dir lib/cmake/gantry)
set(exported gantry_sdk)
if(TARGET gantry)
  list(APPEND exported gantry)
  install(DIRECTORY core/runtime/include/ DESTINATION include)
endif()
install(TARGETS ${exported} EXPORT gantryTargets LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
install(DIRECTORY sdk/include/ sdk/cxx/ DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY sdk/template sdk/example DESTINATION share/gantry/sdk)
# What a vendor or a deployment engineer reads on a host without the sources.
install(FILES LICENSE sdk/ABI.md core/manifest/MANIFEST.md core/pack/RECIPE.md core/format/FORMAT.md
  DESTINATION share/doc/gantry)
install(EXPORT gantryTargets NAMESPACE gantry:: DESTINATION ${package_dir})
install(FILES sdk/cmake/GantryPlugin.cmake sdk/cmake/plugin_exports.map DESTINATION ${package_dir})
configure_package_config_file(tools/cmake/gantryConfig.cmake.in "${CMAKE_BINARY_DIR}/gantryConfig.cmake"
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/gantryConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_BINARY_DIR}/gantryConfig.cmake" "${CMAKE_BINARY_DIR}/gantryConfigVersion.cmake"
  DESTINATION ${package_dir})
