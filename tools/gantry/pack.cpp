// SPDX-License-Identifier: Apache-2.0
#include "core/writing/pack.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/artifact_names.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/status_line.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/pack_programs.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/text.hpp"
#include "core/engine/runtime/plugin_generators.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace gantry::cli {
namespace {

struct RecipeOptions {
  std::string recipe;
  std::string output;
  std::string form = "library";
  std::string generation = "g3";
  bool system_library = false;
  std::string prefix;
  bool json = false;
};

void write_report(const RecipeOptions& options, const PackReport& report,
                  const std::vector<Message>& warnings) {
  print(json_document([&](JsonWriter& json) {
    json.field("file", json_text(options.recipe));
    json.field("output", json_text(options.output));
    json.field("form", options.form);
    json.field("generation", options.generation);
    json.field("bytes", report.bytes);
    json.begin_list("modules");
    for (std::size_t m = 0; m < report.modules.size(); ++m) {
      json.begin_object();
      json.field("index", m);
      json.field("type_key", json_text(report.modules[m].type_key));
      json.field("size", report.modules[m].bytes);
      json.end();
    }
    json.end();
    json.begin_list("warnings");
    for (const Message& text : warnings) json.value(json_text(text.text()));
    json.end();
  }));
}

std::string written_text(const RecipeOptions& options, const PackReport& report) {
  std::error_code failed;
  const bool is_file = std::filesystem::is_regular_file(options.output, failed);
  const std::uint64_t bytes = is_file ? std::filesystem::file_size(options.output, failed) : 0;
  return text_line(
      "gantry: wrote ", options.output == "-" ? "standard output" : quoted(options.output),
      is_file && !failed ? concat(", ", human_size(bytes)) : "", ": ",
      report.modules.empty() ? "CPU code" : join(report.modules, ", ", [](const PackedModule& one) {
        return one.type_key;
      }));
}

// Prints on stderr: standard output may be the artifact. It is written, also if memory is exhausted.
void report_written(const RecipeOptions& options, const PackReport& report) {
  try {
    print_error(written_text(options, report));
  } catch (const std::bad_alloc&) {
  }
}

Result<ExitStatus> pack_recipe(const RecipeOptions& options, const Globals& globals) {
  GANTRY_TRY(const Recipe recipe, read_recipe(options.recipe));
  PackOptions how = options_of_environment();
  // The parser accepts no other names.
  how.form = value_of(forms, options.form).value();
  how.generation = value_of(generations, options.generation).value();
  if (options.system_library) how.system_library = options.prefix;
  how.inputs = input_files(globals, {});
  // Only kernels with sources require plugins, which may compile them.
  std::shared_ptr<RuntimeState> runtime;
  TargetKinds kinds;
  const auto is_built = [](const DeviceModuleSource& module) { return module.data.empty(); };
  if (std::ranges::any_of(recipe.device_modules, is_built)) {
    GANTRY_TRY(runtime, open_state(globals));
    kinds = target_kinds(*runtime->plugins);
    how.kinds = &kinds;
    how.open_generator = [&runtime](std::string_view plugin) {
      return plugin_generator(*runtime, plugin);
    };
  }
  StatusLine line(globals.quiet);
  how.progress = [&line](std::string_view step) { line.show(escaped(step)); };
  std::vector<Message> warnings;
  how.warn = [&](const Message& text) {
    line.erase();
    if (!globals.quiet) warn(text);
    warnings.push_back(text);
  };
  PackReport report;
  how.report = &report;
  how.uses_standard_output = options.json;
  GANTRY_CHECK(pack(recipe, options.output, how));
  line.erase();
  if (options.json) {
    write_report(options, report, warnings);
  } else if (!globals.quiet) {
    report_written(options, report);
  }
  return kDone;
}

}  // namespace

void add_pack(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RecipeOptions>();
  CLI::App* command = app.add_subcommand(
      "pack", "build an artifact from CPU code, kernels, a graph and parameters");
  command->add_option("RECIPE", options->recipe, "the recipe, a YAML file")
      ->required()
      ->check(not_empty());
  add_text(*command, "-o,--output", "FILE", options->output,
           "write the artifact to this file, to a pipe, or to standard output (-)")
      ->required();
  command
      ->add_option(
          "--form", options->form,
          "write a library, or the container alone: library, object, source (C) or container")
      ->type_name("FORM")
      ->check(CLI::IsMember(names_of(forms)))
      ->capture_default_str();
  command
      ->add_option("--generation", options->generation,
                   "releases of TVM that can load it: g3 (0.8 to 0.20, graphs 0.19), g4 (0.21), "
                   "g5 (0.22, kernels 0.24, or newer)")
      ->type_name("GENERATION")
      ->check(CLI::IsMember({"g3", "g4", "g5"}))
      ->capture_default_str();
  CLI::Option* const system_library =
      command->add_flag("--system-library", options->system_library,
                        "with --form object or source: add code that registers the container in "
                        "the program that links it");
  add_text(*command, "--symbol-prefix", "PREFIX", options->prefix,
           "prefix of the symbols of the system library")
      ->needs(system_library);
  command->add_flag("--json", options->json, "print one JSON document about what is written");
  command->footer(
      "Examples:\n"
      "  gantry pack digits.yaml -o digits.so\n"
      "  gantry pack digits.yaml --form object -o container.o\n"
      "  gantry pack digits.yaml -o - | ssh board 'cat > digits.so'");
  set_action(*command, invocation, options, pack_recipe);
}

}  // namespace gantry::cli
