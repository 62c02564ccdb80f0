// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/plugin_project.hpp"

#include "tools/gantry/install/staging_directory.hpp"

#include "core/base/replace_text.hpp"
#include "core/base/text_file.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <gantry/directory.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

struct TemplateFile {
  // as in the template
  std::string name;
  std::string text;
};

Status read_files(const fs::path& directory, const std::string& prefix,
                  std::vector<TemplateFile>& files) {
  std::error_code failed;
  const std::vector<std::string> names = names_in(directory, failed);
  if (failed)
    return unavailable("cannot read ", quoted(directory.native()), ": ", failed.message());
  for (const std::string& name : names) {
    if (fs::is_directory(directory / name, failed)) {
      GANTRY_CHECK(read_files(directory / name, concat(prefix, name, "/"), files));
    } else {
      GANTRY_TRY(std::string text, read_text_file((directory / name).native()));
      files.push_back({prefix + name, std::move(text)});
    }
  }
  return {};
}

}  // namespace

Result<ProjectNames> ProjectNames::of(std::string_view id) {
  if (const std::string rule = check_plugin_id(id); !rule.empty())
    return invalid("plugin id is ", quoted(id), ", expected ", rule);
  ProjectNames names;
  names.id = id;
  names.vendor = id.substr(0, id.find_first_of(".-"));
  names.name = id.substr(id.rfind('.') + 1);
  std::replace(names.name.begin(), names.name.end(), '-', '_');
  if (names.vendor == "gantry")
    return invalid("plugin id is ", quoted(id), ", but gantry. is reserved for this project");
  if (names.name[0] >= '0' && names.name[0] <= '9') {
    return invalid("plugin id is ", quoted(id),
                   ", expected a letter after the last dot: ", quoted(names.name),
                   " becomes a name in C");
  }
  return names;
}

std::string with_names(std::string_view text, const ProjectNames& names) {
  // Longer names first: "null_" is in "null_backend".
  const std::pair<std::string_view, std::string> table[] = {
      {"example.null", names.id},
      {"example.invalid", concat(names.vendor, ".invalid")},
      {"null_backend", names.name + "_backend"},
      {"null_module", names.name + "_module"},
      {"null_plugin", names.name + "_plugin"},
      {"null backend", names.name + " backend"},
      {"null.yaml", names.name + ".yaml"},
      {"_plugin(null", "_plugin(" + names.name},
      {"/null/", "/" + names.name + "/"},
      {"_test(null", "_test(" + names.name},
      {"wheel-null", "wheel-" + names.name},
      {"Example", names.vendor},
  };
  std::string result(text);
  for (const auto& [from, to] : table) result = replace_text(std::move(result), from, to);
  return result;
}

Result<std::vector<std::string>> write_project(const fs::path& template_directory,
                                               const ProjectNames& names, const fs::path& target) {
  std::vector<TemplateFile> files;
  GANTRY_CHECK(read_files(template_directory, "", files));
  GANTRY_TRY(StagingDirectory staging, StagingDirectory::beside(target));
  std::vector<std::string> written;
  for (const TemplateFile& file : files) {
    const std::string name = with_names(file.name, names);
    const std::string text = with_names(file.text, names);
    GANTRY_CHECK(staging.add_file(
        name, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, false));
    written.push_back(name);
  }
  GANTRY_CHECK(staging.move_to("", target));
  return written;
}

}  // namespace gantry::cli
