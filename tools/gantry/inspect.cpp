// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/output_file.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/inspect_json.hpp"
#include "tools/gantry/inspect_text.hpp"
#include "tools/gantry/installed_plugins.hpp"
#include "tools/gantry/session.hpp"

#include <unistd.h>

namespace gantry::cli {
namespace {

struct Options {
  std::string file;
  std::string tree;     // "text", "dot" or "mermaid": only the import tree
  std::string extract;  // folder
  bool json = false;
};

// Writes every payload to a file of its own, "2-opencl.bin".
Result<std::vector<std::string>> extract(const InspectReport& report, const std::string& folder) {
  GANTRY_TRY(const OutputFolder output, OutputFolder::create(folder));
  std::vector<std::string> written;
  for (std::size_t i = 0; i < report.modules.size(); ++i) {
    const Entry& entry = report.modules[i].entry;
    if (entry.is_library()) continue;
    const std::string name = concat(i, "-", file_name_text(entry.type_key), ".bin");
    GANTRY_CHECK(output.write(name, entry.payload));
    written.push_back((std::filesystem::path(folder) / name).string());
  }
  return written;
}

Result<std::string> inspect(const Options& options, const Globals& globals) {
  GANTRY_TRY(Runtime runtime, open_runtime(globals));
  InstalledPlugins plugins(std::move(runtime));
  const InspectOptions how{&plugins.layouts(),
                           [&](std::string_view key) { return plugins.serving(key); },
                           globals.quiet};
  GANTRY_TRY(const InspectReport report, inspect_file(options.file, how));
  std::vector<std::string> written;
  if (!options.extract.empty()) {
    GANTRY_TRY(written, extract(report, options.extract));
  }
  if (options.json) return document_text(inspect_json(report));
  if (options.tree == "text") return import_text(report.import_graph());
  if (options.tree == "dot") return import_dot(report.import_graph());
  if (options.tree == "mermaid") return import_mermaid(report.import_graph());
  if (options.extract.empty()) return inspect_text(report, terminal_of(STDOUT_FILENO));
  std::string lines;
  for (const std::string& path : written) lines += escaped(path) + "\n";
  return lines;
}

}  // namespace

void add_inspect(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "tell what is in a file, without executing it");
  command
      ->add_option("FILE", options->file, "shared library, object, archive, parameters, container")
      ->required();
  CLI::Option* tree =
      command->add_option("--tree", options->tree, "only who imports whom: text, dot or mermaid")
          ->type_name("FORM")
          ->check(CLI::IsMember({"text", "dot", "mermaid"}));
  command
      ->add_option("--extract", options->extract,
                   "write each payload to <index>-<type key>.bin here")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "print one JSON document")->excludes(tree);
  command->footer("Example:\n  gantry inspect model.so --tree mermaid");
  command->callback([options, &invocation] {
    invocation.action = [options, &invocation] {
      const auto text = inspect(*options, invocation.globals);
      if (!text.ok()) return report(text.error());
      print(text.value());
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace gantry::cli
