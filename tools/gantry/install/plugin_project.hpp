// SPDX-License-Identifier: Apache-2.0
//
// The sources of a new plugin, made from the SDK's template by replacing its names.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// The names of a plugin in its sources.
struct ProjectNames {
  // "acme.npu"
  std::string id;
  // the first part of the id: "acme"
  std::string vendor;
  // the last part, as an identifier of C: "npu"
  std::string name;

  // returns  invalid if the id is none, is reserved, or its last part begins with a digit
  static Result<ProjectNames> of(std::string_view id);
};

// Replaces the template's names in a text or a file name.
std::string with_names(std::string_view text, const ProjectNames& names);

// Copies a template to `target`, which must not exist.
//
// template_directory  [in]   sdk/template/cxx or sdk/template/c
// returns  the files, relative to `target`; not_found if there is no template; invalid if `target`
//          exists; unavailable. Nothing remains after a failure
Result<std::vector<std::string>> write_project(const std::filesystem::path& template_directory,
                                               const ProjectNames& names,
                                               const std::filesystem::path& target);

}  // namespace gantry::cli
