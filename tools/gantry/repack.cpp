// SPDX-License-Identifier: Apache-2.0
#include "core/writing/repack.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/artifact_names.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/status_line.hpp"
#include "tools/gantry/common/text_table.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/repack_check.hpp"
#include "tools/gantry/session.hpp"

#include "core/engine/runtime/environment.hpp"

#include <gantry/quoted.hpp>

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace gantry::cli {
namespace {

struct RepackCommand {
  std::string file;
  std::string output;
  // empty: the least
  std::string prefix;
  std::vector<std::string> drop;
  std::vector<std::string> replace;
  std::vector<std::string> add;
  // empty: that of the file
  std::string generation;
  bool is_aligned = false;
  // a name of `forms`; empty: that of the file
  std::string form;
  bool no_load = false;
  bool json = false;
};

// Prints a warning, and keeps it for the document.
struct Warnings {
  bool quiet = false;
  std::vector<Message> all = {};

  void add(Message text) {
    if (!quiet) warn(text);
    all.push_back(std::move(text));
  }
};

void write_report(const RepackCommand& command, const ContainerFile& source,
                  const RepackReport& report, PackForm form, bool is_loaded,
                  const Warnings& warnings) {
  const std::vector<Entry>& before = source.container.entries;
  std::vector<bool> kept(before.size());
  for (const RepackedModule& module : report.modules) {
    if (module.entry) kept[*module.entry] = true;
  }
  print(json_document([&](JsonWriter& json) {
    json.field("file", json_text(command.file));
    json.field("output", json_text(command.output));
    json.field("form", name_of(form));
    json.field("from_generation", name_of(report.from));
    json.field("generation", name_of(report.to));
    json.field("bytes", report.bytes);
    json.begin_list("modules");
    for (std::size_t m = 0; m < report.modules.size(); ++m) {
      const RepackedModule& module = report.modules[m];
      json.begin_object();
      json.field("index", m);
      json.field("type_key", json_text(module.type_key));
      json.field("size", module.bytes);
      json.field("from", module.entry);
      json.end();
    }
    json.end();
    json.begin_list("dropped");
    for (std::size_t e = 0; e < before.size(); ++e) {
      if (kept[e]) continue;
      json.begin_object();
      json.field("index", e);
      json.field("type_key", json_text(before[e].type_key));
      json.end();
    }
    json.end();
    json.field("loaded", is_loaded);
    json.begin_list("warnings");
    for (const Message& text : warnings.all) json.value(json_text(text.text()));
    json.end();
  }));
}

void write_modules(const RepackReport& report) {
  const auto row_of = [&](std::size_t m) -> TableRow {
    const RepackedModule& module = report.modules[m];
    return {concat(m), escaped(module.type_key), concat(module.bytes),
            module.entry ? concat("module ", *module.entry) : std::string("file")};
  };
  write_table({{"index", Align::right}, {"type key"}, {"bytes", Align::right}, {"from"}},
              report.modules.size(), row_of, terminal_of(STDOUT_FILENO), print, 0);
}

Result<ModuleEdits> edits_of(const RepackCommand& command) {
  ModuleEdits edits;
  edits.drop = command.drop;
  for (const std::string& text : command.replace) {
    GANTRY_TRY(edits.replace.emplace_back(), parse_replacement(text));
  }
  for (const std::string& text : command.add) {
    GANTRY_TRY(edits.add.emplace_back(), parse_addition(text));
  }
  return edits;
}

Result<ExitStatus> repack_file(const RepackCommand& command, const Globals& globals) {
  RepackOptions how;
  GANTRY_TRY(how.edits, edits_of(command));
  how.inputs = input_files(globals, {command.file});
  for (const auto& edit : how.edits.replace) how.inputs.add(edit.payload);
  for (const auto& edit : how.edits.add) how.inputs.add(edit.payload);
  const Environment environment = read_environment();
  if (!environment.temporary_directory.empty()) how.temporary = environment.temporary_directory;
  GANTRY_TRY(OutputFile output, OutputFile::open(command.output, how.inputs));
  const bool is_printed = output.is_standard_output();
  if (is_printed && command.json)
    return invalid("standard output is used twice, by --output and --json");

  GANTRY_TRY(const auto runtime, open_state(globals));
  GANTRY_TRY(const ContainerFile source,
             ContainerFile::open(command.file, runtime->layouts, command.prefix));
  how.generation = value_of(generations, command.generation);
  how.is_aligned = command.is_aligned;
  how.form =
      value_of(forms, command.form).value_or(source.elf ? PackForm::library : PackForm::container);
  Warnings warnings{globals.quiet};
  StatusLine line(globals.quiet);
  how.progress = [&line](std::string_view step) { line.show(escaped(step)); };
  bool is_loaded = false;
  if (!command.no_load) {
    how.verify = [&](const std::filesystem::path& path) -> Status {
      line.erase();
      GANTRY_TRY(LoadCheck check, check_loading(globals, runtime->layouts, source, how.form, path));
      is_loaded = check.is_loaded;
      for (Message& text : check.warnings) warnings.add(std::move(text));
      return {};
    };
  }
  GANTRY_TRY(const RepackReport report, repack(source, runtime->layouts, output, how));
  line.erase();
  for (const Message& text : report.warnings) warnings.add(text);
  if (command.json) {
    write_report(command, source, report, how.form, is_loaded, warnings);
  } else if (!is_printed) {
    write_modules(report);
  }
  return kDone;
}

}  // namespace

void add_repack(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RepackCommand>();
  CLI::App* command = app.add_subcommand(
      "repack", "rewrite an artifact: other modules, another generation, aligned data");
  command->add_option("FILE", options->file, "shared library, object or container")
      ->required()
      ->check(not_empty());
  add_text(*command, "-o,--output", "FILE", options->output,
           "write the result to this file, to a pipe, or to standard output (-)")
      ->required();
  add_repeatable(*command, "--drop", "MODULE", options->drop,
                 "remove a module, by its index or type key");
  add_repeatable(*command, "--replace", "MODULE=FILE", options->replace,
                 "replace the payload of a module", accepted_by(parse_replacement));
  add_repeatable(
      *command, "--add", "KEY=FILE[@MODULE]", options->add,
      "add a module with this payload, as an import of MODULE; default: the CPU code; the "
      "last @ of FILE separates MODULE unless a / follows it",
      accepted_by(parse_addition));
  add_text(*command, "--prefix", "PREFIX", options->prefix,
           "of a library with several containers, rewrite the one whose symbol has this prefix;\n"
           "default: the first in byte order, which loaders read");
  command
      ->add_option("--generation", options->generation,
                   "of the container: g2 (v0.7), g3 (v0.8 to v0.20), g4 (v0.21) or g5 (v0.22 and "
                   "later)")
      ->type_name("GENERATION")
      ->check(CLI::IsMember(names_of(generations)));
  command->add_flag("--align", options->is_aligned,
                    "align parameters and constants in the file, so that they are used in place");
  command
      ->add_option("--form", options->form,
                   "write the library, or the container alone: object, source (C) or container; "
                   "default: that of FILE")
      ->type_name("FORM")
      ->check(CLI::IsMember(names_of(forms)));
  command->add_flag("--no-load", options->no_load,
                    "do not load the result; it is always read again");
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Indices and type keys are those of `gantry inspect FILE`. The result is loaded before it is "
      "put into its place, which runs initializers of its CPU code.\n\n"
      "CPU code is converted only between generations of one calling convention, g2 and g3; "
      "without CPU code, payloads are written in the form of the generation.\n\n"
      "Examples:\n"
      "  gantry repack model.so --drop opencl -o cpu.so\n"
      "  gantry repack model.so --align -o aligned.so\n"
      "  gantry repack model.so --replace 2=tuned.bin --add cuda=cuda.bin -o both.so");
  set_action(*command, invocation, options, repack_file);
}

}  // namespace gantry::cli
