// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/install/plugin_store.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/text.hpp"
#include "core/engine/runtime/environment.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;

// what `gantry plugins install` writes to without --directory, as root
constexpr std::string_view kLocalDirectory = "/usr/local/share/gantry/plugins.d";

struct StoreOptions {
  // empty: the default
  std::string directory;
  // install: directory or archive; remove: "acme.npu" or "acme.npu@2.3.1"
  std::string subject;
  // of the files that are installed
  std::uint64_t max_mib = StagingLimits().bytes >> 20;
};

Result<PluginStore> store_of(const StoreOptions& options) {
  // As where plugins are found.
  TrustedOwners owners = TrustedOwners::of_user();
  owners.add_writers_of(core_directory());
  if (!options.directory.empty())
    return PluginStore(absolute_path(options.directory).lexically_normal(), owners);
  if (::geteuid() == 0) return PluginStore(kLocalDirectory, owners);
  const std::string data = read_environment().data_directory;
  if (data.empty()) {
    return invalid("XDG_DATA_HOME and HOME are not set to absolute paths; use --directory");
  }
  return PluginStore(data + "/plugins.d", owners);
}

// Why a runtime does not use the plugins of a directory, and what to change.
std::string unused_directory_text(const fs::path& directory,
                                  const std::vector<SearchLocation>& locations) {
  for (const SearchLocation& location : locations) {
    const std::string cause = unused_text(location);
    const bool is_its_own =
        location.name == directory.native() ||
        std::ranges::find(location.directories, directory.native()) != location.directories.end();
    if (!cause.empty() && is_its_own)
      return concat(escaped(directory.native()), " is not searched, because ", cause);
  }
  return concat(
      escaped(directory.native()),
      " is not searched; name it in plugins.dirs of the configuration, or with --plugins");
}

// Prints whether a new runtime uses the plugin, and the other manifests with its id.
Status print_use(const StoredPlugin& plugin, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  const std::vector<Candidate> candidates = runtime->plugins->candidates();
  const auto installed =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        return fs::path(candidate.file).parent_path() == plugin.path;
      });
  if (installed == candidates.end()) {
    print(text_line("  not used: ", unused_directory_text(plugin.path.parent_path(),
                                                          runtime->plugins->found().locations)));
  } else if (installed->stopped()) {
    print(text_line("  not used: ", name_of(installed->reason), "  ", installed->text));
  }
  for (const Candidate& candidate : candidates) {
    const bool is_other = fs::path(candidate.file).parent_path() != plugin.path;
    if (!is_other || !candidate.manifest || candidate.manifest->id != plugin.id) continue;
    print(text_line("  also found: ", escaped(candidate.title()), "  ",
                    candidate.stopped() ? candidate.reason.tag : name_of(candidate.passed), "  ",
                    escaped(candidate.file)));
  }
  return {};
}

Result<ExitStatus> install(const StoreOptions& options, const Globals& globals) {
  GANTRY_TRY(PluginStore store, store_of(options));
  StagingLimits limits;
  limits.bytes = options.max_mib << 20;
  GANTRY_TRY(const Installation done, store.install(options.subject, core_info().abi, limits));
  print(text_line("installed ", escaped(done.plugin.id), " ", escaped(done.plugin.version), " in ",
                  escaped(done.plugin.path.native())));
  for (const Message& warning : done.warnings) print(text_line("  warning: ", warning));
  GANTRY_CHECK(print_use(done.plugin, globals));
  return kDone;
}

// The error for an id that is not in the store: lists where it is.
Result<ExitStatus> not_installed(const PluginStore& store, const std::string& id,
                                 const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  std::vector<std::string> elsewhere, stored;
  for (const Candidate& candidate : runtime->plugins->candidates())
    if (candidate.manifest && candidate.manifest->id == id) elsewhere.push_back(candidate.file);
  for (const StoredPlugin& plugin : store.versions(""))
    stored.push_back(concat(plugin.id, "@", plugin.version));
  Failure error = not_found("plugin ", quoted(id), " of ", quoted(store.directory().native()),
                            " not found; plugins: ", stored.empty() ? "none" : join(stored, ", "));
  if (!elsewhere.empty()) {
    error = std::move(error).at("found at ", join(elsewhere, ", "),
                                ": remove the package or directory that it belongs to");
  }
  return error;
}

Result<ExitStatus> remove(const StoreOptions& options, const Globals& globals) {
  GANTRY_TRY(PluginStore store, store_of(options));
  const std::size_t at = std::min(options.subject.find('@'), options.subject.size());
  const std::string id = options.subject.substr(0, at);
  const std::string version = options.subject.substr(std::min(at + 1, options.subject.size()));
  std::vector<StoredPlugin> chosen = store.versions(id);
  std::vector<std::string> all;
  for (const StoredPlugin& plugin : chosen) all.push_back(concat(id, "@", plugin.version));
  if (!version.empty())
    std::erase_if(chosen, [&](const StoredPlugin& plugin) { return plugin.version != version; });
  if (chosen.empty() && !all.empty())
    return not_found("plugin ", quoted(options.subject),
                     " not found; installed: ", join(all, ", "));
  if (chosen.empty()) return not_installed(store, id, globals);
  if (chosen.size() > 1)
    return invalid(quoted(id), " has several versions, name one: ", join(all, ", "));
  GANTRY_CHECK(store.remove(chosen[0]));
  print(text_line("removed ", escaped(id), " ", escaped(chosen[0].version), " from ",
                  escaped(store.directory().native())));
  return kDone;
}

void add_directory(CLI::App& command, StoreOptions& options) {
  add_text(command, "--directory", "DIR", options.directory,
           concat("directory of plugins; default: ", kLocalDirectory,
                  " as root, else $XDG_DATA_HOME/gantry/plugins.d"));
}

}  // namespace

void add_install(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<StoreOptions>();
  CLI::App* command = plugins.add_subcommand("install", "check and install a plugin");
  command
      ->add_option("PLUGIN", options->subject,
                   "a directory with one manifest and its library, or a .tar or .tar.gz of it")
      ->required()
      ->check(not_empty());
  add_directory(*command, *options);
  command
      ->add_option("--max-mib", options->max_mib,
                   "refuse a plugin whose files have more MiB, default: 2048")
      ->type_name("N")
      ->check(in_range(1, 1 << 30));
  command->footer(
      "Each version has a directory of its own, <id>-<version>, which is never changed: programs\n"
      "that run keep the files that they have opened.\n\n"
      "Example:\n  gantry plugins install acme-npu-2.3.1.tar.gz");
  set_action(*command, invocation, options, install);
}

void add_remove(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<StoreOptions>();
  CLI::App* command =
      plugins.add_subcommand("remove", "remove a plugin that `gantry plugins install` installed");
  command->add_option("ID", options->subject, "plugin id, or ID@VERSION if it has several versions")
      ->required()
      ->check(not_empty());
  add_directory(*command, *options);
  command->footer("Example:\n  gantry plugins remove acme.npu@2.3.0");
  set_action(*command, invocation, options, remove);
}

}  // namespace gantry::cli
