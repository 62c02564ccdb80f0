// SPDX-License-Identifier: Apache-2.0
//
// The plugin under test: its manifest, and the ways in which cases open and create it.
//
//     Subject::entry()     dlopen, look up the entry; the tables are not read
//     Subject::plugin()    opened as the core opens it: tables copied and checked
//     Instance             created with a host of the kit
#pragma once

#include "core/engine/runtime/host_table.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/library/plugin.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "tools/conformance/case.hpp"
#include "tools/conformance/forwarding_host.hpp"
#include "tools/conformance/payload_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::kit {

// The one exported function of the plugin.
struct PluginEntry {
  decltype(&gantry_plugin_query_v1) query;
};

struct SubjectOptions {
  // path of the manifest
  std::string manifest;
  // empty: none
  std::string payloads;
  std::uint64_t seed = 1;
  // of case 53, for each payload
  int mutations = 10'000;
  // of case 88
  double soak_seconds = 2;
  // of case 86: manifests of other plugins
  std::vector<std::string> beside;
  // start of the run, ns of CLOCK_REALTIME
  std::int64_t begun_ns = 0;
  // limit of each case
  double case_seconds = 30;
  // Places of earlier cases that have exceeded their time: "plugin acme.npu 1.0.0 has not returned
  // from create". A process that stays in one call there for half a second is killed.
  std::vector<std::string> hangs = {};
};

// What a case observes of a runtime.
struct Observation {
  // spans are recorded in RuntimeState::trace
  bool traces = false;
  // receives announced works, see RuntimeOptions::work_sink; empty: they are not announced
  std::function<void(std::uint64_t work, std::string_view text)> works = {};
};

class Subject {
 public:
  // returns  the errors of the manifest and of the payload file
  static Result<Subject> open(SubjectOptions options);

  const SubjectOptions& options() const { return options_; }
  const Manifest& manifest() const { return manifest_; }
  // Payloads that the plugin must load.
  const std::vector<Payload>& payloads() const { return payloads_; }
  // Payloads that it must refuse.
  const std::vector<Payload>& refused_payloads() const { return refused_; }
  // Checks that a runtime of this user trusts the plugin's files: owners, permissions, digests,
  // signatures. Where it does not, cases that create the plugin would be skipped.
  //
  // returns  the reason of the runtime
  Status check_trusted() const;
  // The same plugin with a copy of its library.
  Subject with_library(std::string path) const;
  // Returns the payloads; skipped() if the plugin has no keys, not_run() if there are none.
  Result<const std::vector<Payload>*> needed_payloads() const;
  // Returns the builds; skipped() if the plugin has no code generator, not_run() if there are none.
  Result<const std::vector<GoldenBuild>*> needed_builds() const;

  // Opens the library without further checks.
  Result<PluginEntry> entry() const;
  // Opens the library as the core does. A failure, which case 16 reports, is not_run().
  Result<std::shared_ptr<const LoadedPlugin>> plugin() const;
  // Creates a runtime that has this plugin only, and those beside it if golden payloads import
  // modules.
  Result<std::shared_ptr<RuntimeState>> runtime(const Observation& observed = {}) const;

 private:
  Subject(SubjectOptions options, Manifest manifest)
      : options_(std::move(options)), manifest_(std::move(manifest)) {}

  SubjectOptions options_;
  Manifest manifest_;
  std::vector<Payload> payloads_, refused_;
  std::vector<GoldenBuild> builds_;
};

// The description of this core for a query.
gantry_host_info host_info();

// A runtime and an opened plugin, which a case creates as often as it requires.
class Bench {
 public:
  // values   [in]   of options, instead of the manifest's
  // returns  not_run() if the plugin cannot be opened
  static Result<std::unique_ptr<Bench>> open(const Subject& subject,
                                             const std::vector<ConfigText>& values = {});

  const LoadedPlugin& plugin() const { return *plugin_; }
  RuntimeState& state() const { return *state_; }
  // A host with the values of the options that the manifest declares.
  const gantry_host* host() const { return &host_->table; }

 private:
  Bench() = default;
  std::shared_ptr<RuntimeState> state_;
  std::shared_ptr<const LoadedPlugin> plugin_;
  std::unique_ptr<PluginHost> host_;
};

// A created plugin. The destructor destroys it.
class Instance {
 public:
  // host     [in]   valid until the instance is destroyed
  // returns  the error of create, with its code and reason
  static Result<Instance> create(const LoadedPlugin& plugin, const gantry_host* host);
  Instance(Instance&& other) noexcept
      : plugin_(std::exchange(other.plugin_, nullptr)), self_(other.self_) {}
  Instance& operator=(Instance&&) = delete;
  ~Instance();

  const LoadedPlugin& plugin() const { return *plugin_; }
  void* self() const { return self_; }

 private:
  Instance(const LoadedPlugin* plugin, void* self) : plugin_(plugin), self_(self) {}
  const LoadedPlugin* plugin_;
  void* self_;
};

// Creates the plugin for a case that checks something else: a failure, which case 30 reports, is
// not_run().
Result<Instance> created(const LoadedPlugin& plugin, const gantry_host* host);

// Returns the first line of an error.
std::string first_line(const Error& error);

}  // namespace gantry::kit
