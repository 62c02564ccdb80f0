// SPDX-License-Identifier: Apache-2.0
//
// The plugins of one runtime: who serves a type key or a device, in which order they are tried, what became of each.
//
// Lazy: a manifest is parsed when it can have a say in what is asked for (core/manifest/merge.hpp), a plugin is opened
// when something it serves is asked for. Nothing is ever chosen silently: a plugin that was named (overridden, or asked for
// by id) fails for good; one that was chosen is followed by the next, with one warning.
#pragma once

#include "core/base/log.hpp"
#include "core/manifest/candidate.hpp"
#include "core/manifest/merge.hpp"
#include "core/manifest/search_path.hpp"
#include "core/plugin/plugin.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// A plugin in use. Whoever holds it keeps the instance.
struct ActivePlugin {
  std::shared_ptr<const LoadedPlugin> plugin;
  Manifest manifest;
  // core/runtime's: host table, self, what destroys it
  std::shared_ptr<void> instance;
};

// Creates an opened plugin: core/runtime's part. Called without a lock held, once for each plugin that is opened.
using Activate = std::function<Result<std::shared_ptr<void>>(
    const std::shared_ptr<const LoadedPlugin>& plugin, const Manifest& manifest)>;

struct PluginSetOptions {
  // type key or device name -> plugin id
  std::vector<std::pair<std::string, std::string>> overrides;
  // static for the life of the set
  gantry_host_info core{};
  Activate activate;
  // borrowed; NULL: silent
  const Log* log = nullptr;
};

// One way to serve a wish, in the order of choice.
struct Choice {
  // index of candidates(), for good
  std::size_t candidate = 0;
  bool is_override = false;
};

class PluginSet {
 public:
  // Reads the manifests, and logs what is odd about them; what is odd in one is logged when it is parsed.
  PluginSet(SearchResult found, const std::vector<PluginFilter>& filters, PluginSetOptions options);
  ~PluginSet();
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;

  // Adds a plugin that is part of the program. It takes the place of one with the same id, as tier 1 does.
  //
  // returns  invalid where a plugin of that id is the program's or in use already; the table's faults
  // thread   any
  Status add_program_plugin(decltype(&gantry_plugin_query_v1) query);

  // The plugin that serves a type key or a kind of device, opened and created if it was not. Tried in the order of
  // choices_for().
  //
  // returns  unavailable, reason NO_PLUGIN, where nobody offers it; else the last candidate's error. The whole story is
  //          explain()'s (explain.hpp)
  // thread   any; waits while another thread opens the same plugin
  Result<std::shared_ptr<const ActivePlugin>> for_key(std::string_view type_key);
  Result<std::shared_ptr<const ActivePlugin>> for_device(std::string_view name);
  // The plugin with that id, and no other.
  Result<std::shared_ptr<const ActivePlugin>> open(std::string_view id);

  // Who offers it, in order: override, priority, version, id. An override stands alone; an override that nobody
  // answers gives an empty list. Stopped candidates are left out but for those that failed when opened: they are
  // tried again, for what they lacked may be there now.
  std::vector<Choice> choices_for_key(std::string_view type_key) const;
  std::vector<Choice> choices_for_device(std::string_view name) const;
  // "a and b are equal in priority and version, a was taken by its id"; empty where the order is clear.
  std::string tie_for(const std::vector<Choice>& choices) const;

  // The first choice for a type key that could be opened, as far as can be told without running its code: candidates
  // that are in use or part of the program as they stand, others after an inspection, which is kept as their state.
  // One that failed when its code ran counts, for that may have passed.
  //
  // thread   any
  // costs    an inspection (Depth::quick) for each candidate up to the first that passes
  std::optional<Choice> usable_for_key(std::string_view type_key);

  // These, and all that lists candidates below, have every manifest parsed.
  //
  // Type keys (aliases too) that a candidate serves or would, as far as is known: those of stopped candidates are left
  // out, and those that another plugin overrides. Bytewise, each once.
  std::vector<std::string> served_keys() const;
  // Devices that eligible candidates offer, also candidates that failed: they are tried again. Bytewise, each once.
  std::vector<std::string> served_devices() const;

  // Snapshots. Candidates stand as they were found, those of the program behind them as they were added.
  std::vector<Candidate> candidates() const;
  // One that was chosen.
  Candidate candidate(std::size_t index) const;
  std::vector<Candidate> in_use() const;
  // By index: those whose manifest offers a type key as key or alias, whether it counts or not. Not the program's.
  std::map<std::size_t, Candidate> candidates_naming_key(std::string_view type_key) const;
  const SearchResult& found() const { return found_; }
  std::vector<std::string> warnings() const;
  const PluginSetOptions& options() const { return options_; }
  // The override of a type key or device, or empty.
  std::string override_of(std::string_view what) const;
  // How often a chosen plugin failed and the next was taken.
  std::size_t fallback_count() const;

  // Can every plugin whose manifest or drop-in says `required: true` be used, as far as can be told without running
  // its code? Shadowed ones do not count: another of their id stands for them.
  //
  // returns  unavailable with the candidate's own reason: "plugin acme.npu 2.3.1 is required by <file> and ..."
  Status check_required();

  // Checks every eligible candidate without running its code, and keeps what that says as its state.
  void inspect_all();

 private:
  struct State;
  // Has the manifests parsed that have a say about a word: about who offers or is called that, and who stands in
  // whose way there. Called before the slots are looked at for it, without a lock.
  // nothing: all
  void know(std::optional<std::string_view> word) const;
  void know_all() const;
  std::vector<Choice> choices(std::string_view what, bool device) const;
  Result<std::shared_ptr<const ActivePlugin>> serve(std::string_view what, bool device);
  Result<std::shared_ptr<const ActivePlugin>> activate(std::size_t index);
  bool inspect(std::size_t index, Depth depth);
  void warn(std::string text) const;

  SearchResult found_;
  PluginSetOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace gantry
