// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/install/plugin_project.hpp"
#include "tools/gantry/option_checks.hpp"

#include "core/base/text.hpp"
#include "core/engine/runtime/environment.hpp"

#include <gantry/quoted.hpp>

#include <filesystem>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string id;
  std::string language = "cxx";
  // empty: the last part of the id
  std::string output;
  // empty: that of the installed SDK
  std::string templates;
};

// Finds the directory that contains the templates c and cxx.
Result<fs::path> find_templates(const NewOptions& options) {
  const fs::path installed = fs::path(core_directory()) / ".." / "share/gantry/sdk/template";
  const fs::path path =
      options.templates.empty() ? installed.lexically_normal() : fs::path(options.templates);
  std::error_code failed;
  if (fs::is_directory(path / options.language, failed)) return path / options.language;
  return not_found("template ", quoted(options.language), " of ", quoted(path.native()),
                   " not found; install the SDK (Debian: gantry-dev), or use --template DIR");
}

Result<ExitStatus> make_project(const NewOptions& options, const Globals&) {
  GANTRY_TRY(const ProjectNames names, ProjectNames::of(options.id));
  GANTRY_TRY(const fs::path source, find_templates(options));
  const std::string target = options.output.empty() ? names.name : options.output;
  GANTRY_TRY(const std::vector<std::string> files, write_project(source, names, target));
  for (const std::string& file : files) print(text_line(escaped(target), "/", escaped(file)));
  print("\nbuild and try it:\n");
  print(text_line("  cd ", escaped(target)));
  print(text_line("  cmake -S . -B build -G Ninja && cmake --build build"));
  print(text_line("  gantry --plugins build/share/gantry/plugins.d plugins doctor --key ",
                  escaped(names.id)));
  return kDone;
}

}  // namespace

void add_new(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* command = plugins.add_subcommand(
      "new", "write the sources of a new plugin, which builds, has tests and makes a package");
  command->add_option("ID", options->id, "id of the plugin, vendor.name; also its type key")
      ->required()
      ->check(not_empty());
  command->add_option("--language", options->language, "language of the template")
      ->check(CLI::IsMember({"cxx", "c"}))
      ->capture_default_str();
  add_text(*command, "-o,--output", "DIR", options->output,
           "the directory, which must not exist; default: the last part of the id");
  add_text(*command, "--template", "DIR", options->templates,
           "directory of templates; default: share/gantry/sdk/template of this installation");
  command->footer("Example:\n  gantry plugins new acme.npu");
  set_action(*command, invocation, options, make_project);
}

}  // namespace gantry::cli
