// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/offered_by.hpp"
#include "core/engine/runtime/payload_text.hpp"
#include "core/plugins/choice/serving_plugins.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/output_directory.hpp"
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/declarations.hpp"
#include "tools/gantry/inspect_draw.hpp"
#include "tools/gantry/inspect_text.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/quoted.hpp>

#include <unistd.h>

#include <memory>
#include <optional>

namespace gantry::cli {
namespace {

struct ReportOptions {
  std::string file;
  // "text", "dot" or "mermaid": only the import tree
  std::string tree;
  // directory
  std::string extract;
  bool code = false;
  bool signatures = false;
  bool verify = false;
  bool json = false;
  // empty form: no drawing
  DrawOptions draw;
};

// Writes every payload to its own file, for example "2-opencl.bin".
//
// print_paths  print the path of each file
Status extract(const InspectReport& report, const std::string& directory, const InputFiles& inputs,
               bool print_paths) {
  GANTRY_TRY(const OutputDirectory output, OutputDirectory::create(directory, inputs));
  for (std::size_t i = 0; i < report.container.entries.size(); ++i) {
    const Entry& entry = report.container.entries[i];
    if (!has_payload(entry)) continue;
    const std::string name = concat(i, "-", file_name_text(entry.type_key), ".bin");
    GANTRY_CHECK(output.write(name, entry.payload));
    if (print_paths) print(text_line(escaped((std::filesystem::path(directory) / name).string())));
  }
  return {};
}

Result<ExitStatus> inspect(const ReportOptions& options, const Globals& globals) {
  std::shared_ptr<RuntimeState> runtime;
  std::optional<ServingPlugins> serving;
  const auto find_layouts = [&]() -> Result<const PayloadLayouts*> {
    if (runtime == nullptr) {
      GANTRY_TRY(runtime, open_state(globals));
      serving.emplace(*runtime->plugins);
    }
    return &runtime->layouts;
  };
  if (options.signatures && !options.extract.empty() && !options.json) {
    return invalid("--extract without --json prints no report, so that --signatures has no effect");
  }
  // What the caller names is checked even if the file needs no plugin.
  if (!globals.config.empty() || !globals.plugins.empty()) {
    GANTRY_CHECK(find_layouts());
  }
  std::optional<Progress> progress;
  InspectOptions how{.find_layouts = find_layouts,
                     .served_by = [&](std::string_view key) { return serving->id_for(key); },
                     .offered_by =
                         [&](std::string_view name) {
                           return find_layouts().ok() ? offered_by(*runtime, *serving, name)
                                                      : std::nullopt;
                         },
                     .digested =
                         [&](std::uint64_t done, std::uint64_t total) {
                           if (!progress)
                             progress.emplace("inspect", total, globals.quiet, ProgressUnit::bytes);
                           progress->advance(done);
                         },
                     .verbose = globals.log == "info" || globals.log == "debug" || options.json,
                     .verify = options.verify};
  if (options.code) {
    how.code_of = [&](std::size_t module) -> Result<std::string> {
      GANTRY_TRY(auto artifact, read_artifact(*runtime, options.file));
      return payload_text(*runtime, std::move(artifact), module);
    };
  }
  if (options.signatures)
    how.declarations_of = [&] { return read_declarations(options.file, globals); };
  GANTRY_TRY(const InspectReport report, inspect_file(options.file, how));
  progress.reset();
  if (options.code && report.code.empty()) {
    return invalid(quoted(options.file), " is ", words_for(report.kind),
                   " without code of a virtual machine, so that --code has no effect");
  }
  if (options.signatures && report.declared.empty()) {
    return invalid(quoted(options.file), " is ", words_for(report.kind),
                   " without functions that tvm-ffi's C++ headers describe, so that --signatures "
                   "has no effect");
  }
  if (options.verify && !report.weights) {
    return invalid(quoted(options.file), " is ", words_for(report.kind),
                   " without checksums, so that --verify has no effect");
  }
  if (!options.draw.form.empty()) {
    GANTRY_CHECK(write_drawing(report, options.draw, globals));
    return kDone;
  }
  if (!report.has_modules() && (!options.tree.empty() || !options.extract.empty())) {
    return invalid(quoted(options.file), " is ", words_for(report.kind),
                   " without modules, so that ", options.tree.empty() ? "--extract" : "--tree",
                   " has no effect");
  }
  if (!options.extract.empty()) {
    const bool extract_only = !options.json && options.tree.empty();
    const InputFiles inputs = input_files(globals, {options.file});
    GANTRY_CHECK(extract(report, options.extract, inputs, extract_only));
    if (extract_only) return kDone;
  }
  if (options.json) {
    write_inspect_json(report, how, print);
  } else if (options.tree == "text") {
    write_import_text(import_graph_of(report), print);
  } else if (options.tree == "dot") {
    write_import_dot(import_graph_of(report), print);
  } else if (options.tree == "mermaid") {
    write_import_mermaid(import_graph_of(report), print);
  } else {
    write_inspect_text(report, how, terminal_of(STDOUT_FILENO), print);
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "inspect", "list the contents of a file; executes it only with --signatures");
  command
      ->add_option("FILE", options->file,
                   "shared library, object, archive, parameters, container, or\n"
                   "directory of weights")
      ->required()
      ->check(not_empty());
  CLI::Option* tree =
      command
          ->add_option("--tree", options->tree, "print only the import tree: text, dot or mermaid")
          ->type_name("FORM")
          ->check(CLI::IsMember({"text", "dot", "mermaid"}));
  CLI::Option* extract = add_text(*command, "--extract", "DIR", options->extract,
                                  "write each payload to DIR/<index>-<type key>.bin");
  CLI::Option* code =
      command
          ->add_flag("--code", options->code,
                     "also print constants and instructions of virtual machines; loads their "
                     "payloads with the plugin that serves them")
          ->excludes(tree);
  CLI::Option* signatures =
      command
          ->add_flag("--signatures", options->signatures,
                     "also print signatures and doc strings of functions written with tvm-ffi's "
                     "C++ headers; loads the file and runs code of it, in a child process")
          ->excludes(tree);
  CLI::Option* verify = command->add_flag(
      "--verify", options->verify,
      "compare the checksums that a directory of weights states; reads all of it");
  CLI::Option* json =
      command->add_flag("--json", options->json, "print one JSON document")->excludes(tree);
  CLI::Option* draw =
      command
          ->add_option("--draw", options->draw.form,
                       "draw the operators of graphs and functions: svg, html or dot")
          ->type_name("FORM")
          ->check(CLI::IsMember({"svg", "html", "dot"}));
  for (CLI::Option* const other : {tree, extract, code, signatures, verify, json})
    draw->excludes(other);
  add_text(*command, "-o,--output", "FILE", options->draw.output,
           "write the drawing to this file; default: stdout")
      ->needs(draw);
  add_text(*command, "--profile", "BENCH.json", options->draw.profile,
           "colour the drawing by the times that gantry bench --json has printed")
      ->needs(draw);
  command->footer(
      "-v adds digests of the payloads and the fillers that align arrays.\n\n"
      "--draw folds long graphs and functions: html opens the folds, dot has all nodes. Graphviz's "
      "dot places the nodes where it is installed.\n\n"
      "Examples:\n"
      "  gantry inspect model.so --tree mermaid\n"
      "  gantry bench model.so --json > bench.json\n"
      "  gantry inspect model.so --draw html -o model.html --profile bench.json");
  set_action(*command, invocation, options, inspect);
}

}  // namespace gantry::cli
