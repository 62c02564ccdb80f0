// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.hpp"
#include "core/base/text.hpp"
#include "core/formats/mlf/model_library.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/mlf_file.hpp"
#include "tools/gantry/option_checks.hpp"

#include <unistd.h>

namespace gantry::cli {
namespace {

std::string count_text(std::size_t count, std::string_view noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

std::string validation_text(const std::string& file, const Findings& findings,
                            const Terminal& terminal) {
  constexpr std::size_t level_width = 9;
  std::string text = text_line(escaped(file));
  for (const Finding& one : findings.kept()) {
    const bool is_error = one.level == FindingLevel::error;
    text += "  ";
    text += terminal.paint(pad(std::string(name_of(one.level)), level_width),
                           is_error ? Tone::bad : Tone::warning);
    text += indent(Message(one.path, "  ", one.text), std::string(level_width + 2, ' ')).text();
    text += '\n';
  }
  const std::size_t all = findings.errors() + findings.warnings();
  if (all > findings.kept().size()) {
    text += text_line("  and ", all - findings.kept().size(), " more");
  }
  text += text_line("=> ", findings.errors() == 0 ? "valid" : "NOT valid", ": ",
                    count_text(findings.errors(), "error"), ", ",
                    count_text(findings.warnings(), "warning"));
  return text;
}

std::string validation_json(const std::string& file, std::uint64_t version,
                            const Findings& findings) {
  return json_document([&](JsonWriter& json) {
    json.field("file", json_text(file));
    json.field("version", version);
    json.field("valid", findings.errors() == 0);
    json.field("errors", findings.errors());
    json.field("warnings", findings.warnings());
    write_objects("findings", findings.kept(), json, [](const Finding& one, JsonWriter& to) {
      to.field("level", name_of(one.level));
      to.field("path", text_or_null(one.path));
      to.field("text", json_text(one.text.text()));
    });
  });
}

Result<ExitStatus> validate_archive(const MlfFileOptions& options, const Globals&) {
  GANTRY_TRY(const auto file, open_mlf_file(options.file));
  Findings findings;
  auto archive = read_model_library(file->bytes(), findings);
  if (!archive.ok()) return std::move(archive).error().at("in ", options.file);
  validate(*archive, findings, file.get());
  print(options.json ? validation_json(options.file, archive->metadata.version, findings)
                     : validation_text(options.file, findings, terminal_of(STDOUT_FILENO)));
  return findings.errors() == 0 ? kDone : kFailed;
}

}  // namespace

void add_mlf_validate(CLI::App& mlf, Invocation& invocation) {
  auto options = std::make_shared<MlfFileOptions>();
  CLI::App* command = mlf.add_subcommand(
      "validate", "check an archive: metadata, graph, parameters, memory and functions");
  add_mlf_file(*command, *options);
  command->footer(
      "Exits with status 1 if the archive has an error.\n\n"
      "Example:\n  gantry mlf validate digits.tar");
  set_action(*command, invocation, options, validate_archive);
}

}  // namespace gantry::cli
