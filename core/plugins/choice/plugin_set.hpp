// SPDX-License-Identifier: Apache-2.0
//
// The plugins of one runtime: which ones offer a type key or a device, in which order they are
// tried, and the state of each.
//
// Every manifest is parsed when the set is created; what is installed, changed or removed later has
// no effect on the candidates. A plugin is opened when something that it serves is requested. If a
// plugin that was selected by an override or by its id fails, the request fails; if one that was
// selected by the order of choice fails, the next is tried and one warning is logged.
//
// One candidate of an id is used, the first in the order of precedence. If it is refused before its
// library is opened, the next one of its id that may_replace() it (steps.hpp) and whose library can
// be used takes its place for the life of the set, however it was selected; the refused one is then
// tried no more. No other library is inspected for it.
#pragma once

#include "core/plugins/choice/steps.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A plugin in use. Keeps its instance alive.
struct ActivePlugin {
  std::shared_ptr<const LoadedPlugin> plugin;
  Manifest manifest;
  // owned by core/engine/runtime: host table and self; its deleter destroys the plugin
  std::shared_ptr<void> instance;
};

// The kinds of things that a plugin offers by name.
enum class Offer { type_key, device, global };

class PluginSet {
 public:
  // Takes all manifests that were found through the steps of discover(), and logs the warnings about
  // them, in the order of discovery. A manifest that is malformed is a candidate with a reason, not
  // an error.
  //
  // cache    [in]   see discover()
  PluginSet(SearchResult found, ChoiceOptions options, ManifestCache* cache = nullptr);
  // Destroys the plugins in the reverse order of their creation: one that requested another plugin
  // while it was created is destroyed before it.
  ~PluginSet();
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;

  // Adds a plugin that is part of the program. It shadows a candidate of the same id.
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
  // candidate  [in]  index into candidates(); of a refused one another version may be opened
  Result<std::shared_ptr<const ActivePlugin>> open(std::size_t candidate);

  // Returns the indices of the candidates that offer it, in order: override, priority, version, id. An override
  // excludes all others; if no candidate matches it, the list is empty. Stopped candidates are
  // omitted, except those that failed when they were inspected or opened: these are tried again,
  // because the cause may be gone.
  std::vector<std::size_t> choices_for_key(std::string_view type_key) const;
  std::vector<std::size_t> choices_for_device(std::string_view name) const;
  std::vector<std::size_t> choices_for_global(std::string_view name) const;
  // "a and b are equal in priority and version, a comes first by its id; ..."; empty where the
  // order is unambiguous.
  std::string tie_for(const std::vector<std::size_t>& choices) const;

  // Excludes a candidate, which is then never tried. No effect if its plugin is in use.
  void exclude(std::size_t candidate, const Reason& why, Message text);

  // Stores the verdict of a probe: of a candidate that passed how long it took, of another one why
  // it is refused. It is tried again when something requests it. No effect if its plugin is in use.
  void set_probe(std::size_t candidate, const Result<ProbeNote>& verdict);

  // Replaces a candidate that was refused before its library was opened by the next one of its id
  // that may_replace() it and passes an inspection. Without one it stays what it is, and is tried
  // again when something requests it. The warning is logged when the new one is opened.
  //
  // returns  the candidate of that id that is used now; nullopt: still the refused one, or none
  // thread   any; waits while another thread opens the plugin
  // costs    one inspection for each candidate up to the first that passes
  std::optional<std::size_t> next_version(std::size_t refused, Depth depth);

  // Returns the first choice for a type key that is usable as far as can be determined without
  // running its code. Candidates that are in use or part of the program are accepted; others are
  // inspected, and the result is stored as their state. A candidate that failed when its code ran
  // is accepted, because the cause may be gone.
  //
  // depth    [in]   library: before a plugin is opened; dependencies: after an opening has failed
  // thread   any
  // costs    one inspection for each candidate up to the first that passes
  std::optional<std::size_t> usable_for_key(std::string_view type_key, Depth depth);

  // Returns the type keys and aliases that candidates serve, without those of stopped candidates
  // and without those that are overridden to another plugin. Sorted bytewise and unique.
  std::vector<std::string> served_keys() const;
  // Returns the devices that candidates offer, without those of stopped candidates. Sorted bytewise
  // and unique.
  std::vector<std::string> served_devices() const;
  // The same with the devices of candidates that have failed, because these are tried again.
  std::vector<std::string> offered_devices() const;

  // Snapshots. The candidates that were found precede those of the program, which are in the order
  // in which they were added.
  std::vector<Candidate> candidates() const;
  // Precondition: `index` is one of candidates().
  Candidate candidate(std::size_t index) const;
  std::vector<Candidate> in_use() const;
  // How often a plugin failed and the next one was tried.
  std::uint64_t fallbacks() const;
  const SearchResult& found() const { return found_; }
  // of the search, the manifests, the drop-ins, the filters and add_warning(); logged
  const std::vector<Message>& warnings() const { return warnings_; }
  // Logs a warning of the runtime's creation and adds it.
  void add_warning(Message text);
  const ChoiceOptions& options() const { return options_; }
  // Checks every plugin whose manifest or drop-in says `required: true`, without running its code.
  // Shadowed and disabled plugins are omitted.
  //
  // returns  unavailable with the candidate's reason: "plugin acme.npu 2.3.1 is required by
  //          <file> and ..."
  Status check_required();

  // Inspects every eligible candidate and its dependencies, without running its code, and stores
  // the results as their states.
  void inspect_all();

  // Stores the verdicts of earlier probes that opening a plugin would use. For reports.
  void note_probes();

 private:
  struct State;
  std::vector<std::string> devices_of(bool (Candidate::*is_omitted)() const) const;
  std::vector<std::size_t> choices(std::string_view what, Offer offer) const;
  Result<std::shared_ptr<const ActivePlugin>> serve(std::string_view what, Offer offer);
  Result<std::shared_ptr<const ActivePlugin>> open_candidate(std::size_t index);
  std::optional<std::size_t> logged_next_version(std::size_t refused, Depth depth);
  void log_replacement(std::size_t candidate);
  bool insert_next_version(std::vector<std::size_t>& choices, std::size_t at, std::string_view what,
                           Offer offer, Depth depth);
  bool inspect(std::size_t index, Depth depth);
  void warn(const Message& text) const;
  void warn_about(const Reason& why, const Message& text) const;

  SearchResult found_;
  ChoiceOptions options_;
  std::vector<Message> warnings_;
  std::unique_ptr<State> state_;
};

}  // namespace gantry
