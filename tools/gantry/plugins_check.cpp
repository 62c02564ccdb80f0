// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/explanation_json.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/text.hpp"
#include "tools/conformance/static/check.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace gantry::cli {
namespace {

struct CheckOptionsOfCommand {
  std::string path;
  bool json = false;
};

// A case that should pass and fails is a warning.
std::string_view label_of(const CheckFinding& finding) {
  if (finding.outcome == CheckOutcome::passed) return "PASSED";
  if (finding.outcome == CheckOutcome::skipped) return "SKIPPED";
  return finding.must ? "FAILED" : "WARNING";
}

Tone tone_of(const CheckFinding& finding) {
  if (finding.outcome == CheckOutcome::passed) return Tone::good;
  if (finding.outcome == CheckOutcome::skipped) return Tone::faint;
  return finding.must ? Tone::bad : Tone::warning;
}

// Returns the library of a package that is unpacked in another directory than the root: its manifest has
// the absolute path that the library has when the package is installed. Empty: there is none.
std::string unpacked_library(const PluginCheck& check) {
  std::error_code failed;
  if (!check.library.starts_with('/') || std::filesystem::exists(check.library, failed)) return "";
  std::filesystem::path root = absolute_path(check.manifest).lexically_normal();
  while (root.has_relative_path()) {
    root = root.parent_path();
    std::string library = root.native() + check.library;
    if (root.has_relative_path() && std::filesystem::exists(library, failed)) return library;
  }
  return "";
}

// What the steps of this host decide about a manifest that --plugins names: a copy of it that is
// installed can be shadowed, or have another policy of signatures. Without a configuration that can
// be read the host uses no plugin.
ExplainedCandidate on_this_host(const std::string& manifest, Globals globals) {
  Candidate candidate;
  candidate.file = absolute_path(manifest).lexically_normal().string();
  globals.quiet = true;
  const auto state = open_state(globals);
  if (!state.ok()) {
    candidate.stop(state.error());
    return explain_candidate(candidate, 0);
  }
  SearchResult alone =
      search_plugins({.manifests = {candidate.file}, .exclusive = true, .host = {}});
  alone.drop_ins = (*state)->plugins->found().drop_ins;
  ChoiceOptions options = (*state)->plugins->options();
  options.log = nullptr;
  PluginSet plugins(std::move(alone), std::move(options));
  plugins.inspect_all();
  if (const std::vector<Candidate> found = plugins.candidates(); !found.empty()) {
    candidate = found.front();
  } else {
    candidate.stop(reason::masked, "an empty file is no plugin, it masks manifests of its name");
  }
  return explain_candidate(candidate, 0);
}

std::string host_text(const ExplainedCandidate& host, const Terminal& terminal) {
  if (!host.reason) return concat("this host  ", terminal.paint("USABLE", Tone::good), "\n");
  return concat("this host  ", terminal.paint(upper(name_of(host.verdict)), Tone::bad), "  ",
                text_line(name_of(host.reason), "  ", indent(host.text, "           ")));
}

std::string check_text(const PluginCheck& check, const Terminal& terminal) {
  constexpr std::size_t label_width = 8, number_width = 3, name_width = 19;
  std::string text =
      text_line(check.id.empty() ? "plugin" : check.id, " ", check.version, "  ", check.manifest);
  const std::string blanks(2 + label_width + number_width + name_width, ' ');
  std::size_t failed = 0, warnings = 0, skipped = 0;
  for (const CheckFinding& one : check.findings) {
    const bool is_failed = one.outcome == CheckOutcome::failed;
    failed += is_failed && one.must;
    warnings += is_failed && !one.must;
    skipped += one.outcome == CheckOutcome::skipped;
    text += "  ";
    text += terminal.paint(pad(std::string(label_of(one)), label_width), tone_of(one));
    text += pad(concat(one.number), number_width) + pad(std::string(one.name), name_width);
    text += indent(Message::lines(one.text), blanks).text() + '\n';
  }
  text += text_line("=> ", check.conforms() ? "conforms" : "does NOT conform", ": ",
                    check.findings.size() - failed - warnings - skipped, " passed, ", failed,
                    " failed, ", warnings, " warnings, ", skipped, " skipped");
  return text;
}

std::string check_json(const PluginCheck& check, const ExplainedCandidate& host) {
  return json_document([&](JsonWriter& json) {
    json.field("manifest", json_text(check.manifest));
    json.field("id", text_or_null(check.id));
    json.field("version", text_or_null(check.version));
    json.field("library", text_or_null(check.library));
    json.field("conforms", check.conforms());
    write_objects("findings", check.findings, json, write_finding);
    json.begin_object("host");
    write_state(host, json);
    json.end();
  });
}

Result<ExitStatus> check_command(const CheckOptionsOfCommand& options, const Globals& globals) {
  GANTRY_TRY(const std::string manifest, manifest_in(options.path));
  PluginCheck check = check_plugin(manifest);
  if (const std::string library = unpacked_library(check); !library.empty()) {
    check.findings.front().text +=
        concat("\n", library,
               " exists: the package is unpacked, and not installed; check the plugin before it is "
               "packed, or install the package");
  }
  const ExplainedCandidate host = on_this_host(manifest, globals);
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  print(options.json ? check_json(check, host)
                     : check_text(check, terminal) + host_text(host, terminal));
  return check.conforms() ? kDone : kFailed;
}

}  // namespace

void add_plugins_check(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<CheckOptionsOfCommand>();
  CLI::App* command = plugins.add_subcommand(
      "check", "check a plugin's manifest, library and package without executing it");
  command->add_option("PLUGIN", options->path, "manifest, or directory with one manifest")
      ->required();
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Exits with status 1 if a case fails that every plugin must pass. The last line states\n"
      "whether this host can use the plugin; the package may be for another host, so this does\n"
      "not change the status.\n\n"
      "Example:\n  gantry plugins check build/share/gantry/plugins.d/npu");
  set_action(*command, invocation, options, check_command);
}

}  // namespace gantry::cli
