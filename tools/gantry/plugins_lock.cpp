// SPDX-License-Identifier: Apache-2.0
//
// `plugins lock` writes the lock file, `plugins verify` compares it with the installed plugins.
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/mapped_file.hpp"
#include "core/base/output_file.hpp"
#include "core/base/text.hpp"
#include "core/base/text_file.hpp"

#include <algorithm>
#include <optional>

namespace gantry::cli {
namespace {

// Stands for the digest of a file that cannot be read.
constexpr std::string_view kUnreadable = "unreadable";

struct LockOptions {
  // empty: standard output, or no file with --json
  std::string output;
  bool json = false;
};

struct VerifyOptions {
  std::string file;
  bool json = false;
};

// True for every plugin that passes all checks but that of the lock file, also if another one of
// its id is chosen.
bool is_lockable(const Candidate& candidate) {
  if (!candidate.manifest || candidate.manifest->library_path.empty()) return false;
  const Reason& why = candidate.reason;
  return candidate.passed >= Step::trusted || why == reason::lock_missing ||
         why == reason::lock_mismatch;
}

Result<LockEntry> entry_of(const Candidate& candidate) {
  const Manifest& manifest = *candidate.manifest;
  LockEntry entry;
  entry.id = manifest.id;
  entry.version = entry.min_version = manifest.version.text;
  entry.manifest = candidate.file;
  entry.library = manifest.library_path;
  GANTRY_TRY(const std::string text, read_text_file(candidate.file));
  entry.manifest_sha256 = hex_text(sha256(as_bytes(text)));
  GANTRY_TRY(const auto library, MappedFile::open(manifest.library_path));
  entry.library_sha256 = hex_text(sha256(library->bytes()));
  if (manifest.sha256.empty() || manifest.sha256 == entry.library_sha256) return entry;
  return malformed(no_offset, candidate.file, " states sha256 ", manifest.sha256, ", ",
                   manifest.library_path, " has ", entry.library_sha256)
      .with_reason(reason::digest.tag);
}

void write_entry(const LockEntry& entry, JsonWriter& json) {
  json.field("id", json_text(entry.id));
  json.field("version", json_text(entry.version));
  json.field("min_version", text_or_null(entry.min_version));
  json.field("manifest", json_text(entry.manifest));
  json.field("manifest_sha256", entry.manifest_sha256);
  json.field("library", json_text(entry.library));
  json.field("library_sha256", entry.library_sha256);
}

Result<ExitStatus> lock(const LockOptions& options, const Globals& globals) {
  std::optional<OutputFile> output;
  if (!options.json || !options.output.empty()) {
    const std::string path = options.output.empty() ? "-" : options.output;
    GANTRY_TRY(OutputFile opened, OutputFile::open(path, input_files(globals, {})));
    if (options.json && opened.is_standard_output())
      return invalid("standard output is used twice, by --output and --json");
    output.emplace(std::move(opened));
  }
  GANTRY_TRY(const auto runtime, open_state(globals));
  std::vector<LockEntry> entries;
  for (const Candidate& candidate : runtime->plugins->candidates()) {
    if (!is_lockable(candidate)) continue;
    auto entry = entry_of(candidate);
    if (!entry.ok()) {
      return std::move(entry).failure().at("while locking plugin ", candidate.title(),
                                           "; repair, disable or remove it");
    }
    entries.push_back(std::move(*entry));
  }
  const std::string text = lock_file_text(std::move(entries));
  // A path may be no text that YAML can contain.
  GANTRY_TRY(entries, parse_lock_file(text, options.output));
  if (output) {
    GANTRY_CHECK(output->start());
    GANTRY_CHECK(output->finish(text));
  }
  if (!options.json) return kDone;
  print(json_document([&](JsonWriter& json) {
    json.field("file", text_or_null(options.output));
    write_objects("plugins", entries, json, write_entry);
  }));
  return kDone;
}

// The installed plugins to compare: those that would be locked, and those that were.
std::vector<LockEntry> installed(const std::vector<Candidate>& candidates,
                                 const std::vector<LockEntry>& locked) {
  std::vector<LockEntry> all;
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest || candidate.manifest->library_path.empty()) continue;
    const Manifest& manifest = *candidate.manifest;
    const auto is_same = [&](const LockEntry& one) { return one.id == manifest.id; };
    if (!is_lockable(candidate) && std::none_of(locked.begin(), locked.end(), is_same)) continue;
    LockEntry entry{manifest.id,
                    manifest.version.text,
                    manifest.version.text,
                    candidate.file,
                    std::string(kUnreadable),
                    manifest.library_path,
                    std::string(kUnreadable)};
    if (const auto text = read_text_file(candidate.file); text.ok()) {
      entry.manifest_sha256 = hex_text(sha256(as_bytes(*text)));
    }
    if (const auto library = MappedFile::open(manifest.library_path); library.ok())
      entry.library_sha256 = hex_text(sha256((*library)->bytes()));
    all.push_back(std::move(entry));
  }
  return all;
}

void write_difference(const LockDifference& difference, JsonWriter& json) {
  json.field("kind", name_of(difference.kind));
  json.field("id", json_text(difference.id));
  json.field("manifest", text_or_null(difference.manifest));
  json.field("field", text_or_null(difference.field));
  json.field("locked", text_or_null(difference.locked));
  json.field("found", text_or_null(difference.found));
}

Result<ExitStatus> verify(const VerifyOptions& options, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  const PluginSet& plugins = *runtime->plugins;
  const std::string file =
      options.file.empty() ? plugins.options().trust->lock_file() : options.file;
  GANTRY_TRY(const std::string text, read_text_file(file, kMaxLockFile));
  GANTRY_TRY(const std::vector<LockEntry> locked, parse_lock_file(text, file));
  const std::vector<LockEntry> found = installed(plugins.candidates(), locked);
  const std::vector<LockDifference> all = differences(locked, found);
  if (options.json) {
    print(json_document([&](JsonWriter& json) {
      json.field("file", json_text(file));
      json.field("plugins", found.size());
      write_objects("differences", all, json, write_difference);
    }));
  } else if (all.empty()) {
    print(
        text_line(found.size(), found.size() == 1 ? " plugin matches " : " plugins match ", file));
  } else {
    std::string lines;
    for (const LockDifference& one : all) lines += text_line(describe(one));
    print(lines);
  }
  return all.empty() ? kDone : kFailed;
}

}  // namespace

void add_plugins_lock(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<LockOptions>();
  CLI::App* command =
      plugins.add_subcommand("lock", "write the lock file: all trusted plugins with their digests");
  add_text(*command, "-o,--output", "FILE", options->output, "write to this file; default: stdout");
  command->add_flag("--json", options->json,
                    "print the entries as one JSON document, in place of a\nlock file on stdout");
  command->footer(
      "While /etc/gantry/plugins.lock exists, only plugins that it lists are used, and only if "
      "their files are unchanged.\n\n"
      "Example:\n  gantry plugins lock -o /etc/gantry/plugins.lock");
  set_action(*command, invocation, options, lock);
}

void add_plugins_verify(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      plugins.add_subcommand("verify", "compare the installed plugins with a lock file");
  command->add_option("FILE", options->file, "the lock file; default: the one of this host")
      ->check(not_empty());
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Prints one line for each plugin that was added or removed and each changed field. Exits "
      "with "
      "status 1 if there is one.\n\n"
      "Example:\n  gantry plugins verify");
  set_action(*command, invocation, options, verify);
}

}  // namespace gantry::cli
