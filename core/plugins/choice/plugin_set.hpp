// SPDX-License-Identifier: Apache-2.0
//
// The plugins of one runtime: which ones offer a type key or a device, in which order they are
// tried, and the state of each.
//
// Every manifest is parsed when the set is created; what is installed, changed or removed later has
// no effect on the candidates. A plugin is opened when something that it serves is requested. If a
// plugin that was selected by an override or by its id fails, the request fails; if one that was
// selected by the order of choice fails, the next is tried and one warning is logged.
#pragma once

#include "core/base/log.hpp"
#include "core/plugins/choice/inspect.hpp"
#include "core/plugins/choice/opened_plugins.hpp"
#include "core/plugins/choice/plugin.hpp"
#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/manifest/merge.hpp"
#include "core/plugins/manifest/search_path.hpp"
#include "core/plugins/trust/trust.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// A plugin in use. Keeps its instance alive.
struct ActivePlugin {
  std::shared_ptr<const LoadedPlugin> plugin;
  Manifest manifest;
  // owned by core/engine/runtime: host table and self; its deleter destroys the plugin
  std::shared_ptr<void> instance;
};

// Creates an opened plugin; implemented by core/engine/runtime. Called without a lock held, once for each
// plugin that is opened.
using Activate = std::function<Result<std::shared_ptr<void>>(
    const std::shared_ptr<const LoadedPlugin>& plugin, const Manifest& manifest)>;

// Opens plugins in a child process before this process does; implemented by core/plugins/probe.
struct ProbeHooks {
  // Returns the error for a plugin that must not be opened. Called without a lock held.
  std::function<Result<std::optional<ProbeNote>>(const Candidate&)> check;
  // A plugin that passed has failed in this process.
  std::function<void(const Candidate&)> forget;
};

struct PluginSetOptions {
  // type key, device or global -> plugin id
  std::vector<std::pair<std::string, std::string>> overrides;
  // its texts must outlive the set
  gantry_host_info core{};
  Activate activate;
  // NULL: all files are trusted
  std::shared_ptr<const Trust> trust;
  // borrowed; what this process has opened. NULL: opened plugins are not compared
  OpenedPlugins* opened = nullptr;
  // empty functions: plugins are opened in this process only
  ProbeHooks probe;
  // borrowed; NULL: nothing is logged
  const Log* log = nullptr;
  // try the next plugin that offers a type key or device if one fails
  bool fallback = true;
  // the file that forbids it
  std::string fallback_source = {};
};

// The kinds of things that a plugin offers by name.
enum class Offer { type_key, device, global };

// One way to serve a requirement, in the order of choice.
struct Choice {
  // index into candidates(); stays valid
  std::size_t candidate = 0;
  bool is_override = false;
};

// The order of choice: by priority and version, the higher first, then by id, the bytewise lower
// first.
bool comes_first(const Manifest& a, const Manifest& b);

class PluginSet {
 public:
  // Reads and parses the manifests, and logs the warnings about them, in the order of discovery. A
  // manifest that is malformed is a candidate with a reason, not an error.
  PluginSet(SearchResult found, const std::vector<PluginFilter>& filters, PluginSetOptions options);
  // Destroys the plugins in the reverse order of their creation: one that requested another plugin
  // while it was created is destroyed before it.
  ~PluginSet();
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;

  // Adds a plugin that is part of the program. It shadows a candidate of the same id, as tier 1
  // does.
  //
  // returns  invalid if a plugin with that id was added before or is in use; the errors of
  //          adopt_plugin()
  // thread   any
  Status add_program_plugin(decltype(&gantry_plugin_query_v1) query);

  // Returns the plugin that serves a type key or a kind of device; opens and creates it if
  // necessary. Tries the choices in order.
  //
  // returns  unavailable, reason NO_PLUGIN, if no plugin offers it; else the error of the last one
  //          tried. explain() (explain.hpp) reports all of them
  // thread   any; waits while another thread opens the same plugin
  Result<std::shared_ptr<const ActivePlugin>> for_key(std::string_view type_key);
  Result<std::shared_ptr<const ActivePlugin>> for_device(std::string_view name);
  // As above, for the plugin with that id. No other plugin is tried.
  Result<std::shared_ptr<const ActivePlugin>> open(std::string_view id);
  Result<std::shared_ptr<const ActivePlugin>> open(const Choice& choice);

  // Returns the candidates that offer it, in order: override, priority, version, id. An override
  // excludes all others; if no candidate matches it, the list is empty. Stopped candidates are
  // omitted, except those that failed when they were inspected or opened: these are tried again,
  // because the cause may be gone.
  std::vector<Choice> choices_for_key(std::string_view type_key) const;
  std::vector<Choice> choices_for_device(std::string_view name) const;
  std::vector<Choice> choices_for_global(std::string_view name) const;
  // "a and b are equal in priority and version, a comes first by its id; ..."; empty where the
  // order is unambiguous.
  std::string tie_for(const std::vector<Choice>& choices) const;

  // Excludes a candidate, which is then never tried. No effect if its plugin is in use.
  void exclude(std::size_t candidate, const Reason& why, Message text);

  // Stores the verdict of a probe: of a candidate that passed how long it took, of another one why
  // it is refused. It is tried again when something requests it. No effect if its plugin is in use.
  void set_probe(std::size_t candidate, const Result<ProbeNote>& verdict);

  // Returns the first choice for a type key that is usable as far as can be determined without
  // running its code. Candidates that are in use or part of the program are accepted; others are
  // inspected, and the result is stored as their state. A candidate that failed when its code ran
  // is accepted, because the cause may be gone.
  //
  // depth    [in]   library: before a plugin is opened; dependencies: after an opening has failed
  // thread   any
  // costs    one inspection for each candidate up to the first that passes
  std::optional<Choice> usable_for_key(std::string_view type_key, Depth depth);

  // Returns the type keys and aliases that candidates serve, without those of stopped candidates
  // and without those that are overridden to another plugin. Sorted bytewise and unique.
  std::vector<std::string> served_keys() const;
  // Returns the devices that eligible candidates offer, including candidates that have failed,
  // because these are tried again. Sorted bytewise and unique.
  std::vector<std::string> served_devices() const;

  // Snapshots. The candidates that were found precede those of the program, which are in the order
  // in which they were added.
  std::vector<Candidate> candidates() const;
  // Precondition: `index` comes from a Choice.
  Candidate candidate(std::size_t index) const;
  std::vector<Candidate> in_use() const;
  // How often a plugin failed and the next one was tried.
  std::uint64_t fallbacks() const;
  const SearchResult& found() const { return found_; }
  const std::vector<PluginFilter>& filters() const { return filters_; }
  // of the search, the manifests, the drop-ins, the filters and add_warning(); logged
  const std::vector<Message>& warnings() const { return warnings_; }
  // Logs a warning of the runtime's creation and adds it.
  void add_warning(Message text);
  const PluginSetOptions& options() const { return options_; }
  // The override of a type key, device or global, or empty.
  std::string override_of(std::string_view what) const;

  // Checks every plugin whose manifest or drop-in says `required: true`, without running its code.
  // Shadowed and disabled plugins are omitted.
  //
  // returns  unavailable with the candidate's reason: "plugin acme.npu 2.3.1 is required by
  //          <file> and ..."
  Status check_required();

  // inspect_plugin() with the checks of options().trust and options().opened.
  Result<Inspection> inspect_file(const Manifest& manifest, Depth depth) const;

  // Inspects every eligible candidate and its dependencies, without running its code, and stores
  // the results as their states.
  void inspect_all();

 private:
  struct State;
  std::vector<Choice> choices(std::string_view what, Offer offer) const;
  Result<std::shared_ptr<const ActivePlugin>> serve(std::string_view what, Offer offer);
  Result<std::shared_ptr<const ActivePlugin>> activate(std::size_t index);
  // open_plugin() in `options_.opened`.
  Result<std::shared_ptr<const LoadedPlugin>> open_library(const Manifest& manifest,
                                                           const Inspection& inspection);
  bool inspect(std::size_t index, Depth depth);
  void warn(const Message& text) const;

  SearchResult found_;
  std::vector<PluginFilter> filters_;
  PluginSetOptions options_;
  std::vector<Message> warnings_;
  std::unique_ptr<State> state_;
};

}  // namespace gantry
