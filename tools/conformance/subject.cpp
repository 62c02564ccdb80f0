// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/subject.hpp"

#include "core/base/absolute_path.hpp"
#include "core/engine/runtime/environment.hpp"
#include "core/engine/tensor/object.hpp"
#include "core/plugins/library/library_handle.hpp"
#include "core/plugins/manifest/config_values.hpp"
#include "tools/conformance/plugin_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <filesystem>

namespace gantry::kit {
namespace {

Result<Value> value_of_scalar(const ConfigScalar& scalar) {
  if (const auto* truth = std::get_if<bool>(&scalar)) return Value::adopt(bool_value(*truth));
  if (const auto* number = std::get_if<std::int64_t>(&scalar))
    return Value::adopt(int_value(*number));
  if (const auto* number = std::get_if<double>(&scalar)) return Value::adopt(float_value(*number));
  return new_text(GANTRY_STRING, std::get<std::string>(scalar));
}

// The options as a runtime resolves them whose program sets those in `given`.
Status add_options(const RuntimeState& state, const Manifest& manifest,
                   const std::vector<ConfigText>& given, PluginHost& host) {
  const ConfigLocations locations{
      std::filesystem::path(manifest.file).parent_path().string(),
      std::filesystem::path(manifest.library_path).parent_path().string(), state.cache_directory,
      [&](const std::string& name) { return state.environment.variable(name); }};
  std::vector<Message> warnings;
  const std::vector<ConfigLayer> layers{{"the conformance kit", given}};
  GANTRY_TRY(const auto values, resolve_config(manifest, layers, locations, warnings));
  for (const ConfigValue& value : values) {
    GANTRY_TRY(Value made, value_of_scalar(value.value));
    host.options.emplace_back(value.key, std::move(made));
  }
  host.options.emplace_back("threads", Value::adopt(int_value(state.pool->size())));
  GANTRY_TRY(Value cache, new_text(GANTRY_STRING, state.cache_directory));
  host.options.emplace_back("cache_directory", std::move(cache));
  return {};
}

}  // namespace

gantry_host_info host_info() {
  return {.struct_size = sizeof(gantry_host_info),
          .flags = 0,
          .abi = core_info().abi,
          .core_version = core_info().core_version};
}

Result<Subject> Subject::open(SubjectOptions options) {
  // The core resolves relative paths itself; the copies of case 17 require an absolute one.
  options.manifest = absolute_path(options.manifest).lexically_normal().string();
  GANTRY_TRY(Manifest manifest, open_manifest(options.manifest));
  id_of_subject() = manifest.id;
  Subject subject(std::move(options), std::move(manifest));
  if (subject.options_.payloads.empty()) return subject;
  GANTRY_TRY(GoldenFile file, read_payload_file(subject.options_.payloads, subject.manifest_));
  subject.builds_ = std::move(file.builds);
  for (Payload& payload : file.payloads) {
    auto& into = payload.refused.empty() ? subject.payloads_ : subject.refused_;
    into.push_back(std::move(payload));
  }
  return subject;
}

std::string& id_of_subject() {
  static std::string id;
  return id;
}

Status Subject::check_trusted() const {
  GANTRY_TRY(const auto state, runtime());
  for (const Candidate& candidate : state->plugins->candidates()) {
    if (!candidate.distrust || !candidate.stopped()) continue;
    return unavailable(candidate.text)
        .with_reason(candidate.distrust.tag)
        .at("no runtime of this user would use ", manifest_.file,
            "; the kit checks plugins as they are used");
  }
  return {};
}

Subject Subject::with_library(std::string path) const {
  Subject copy = *this;
  copy.manifest_.library_path = std::move(path);
  return copy;
}

Result<const std::vector<Payload>*> Subject::needed_payloads() const {
  if (manifest_.keys.empty()) return skipped("the plugin has no keys");
  if (payloads_.empty()) return not_run("no payloads: pass --payloads FILE, see CONFORMANCE.md");
  return &payloads_;
}

Result<const std::vector<GoldenBuild>*> Subject::needed_builds() const {
  const auto has_languages = [](const TargetKind& kind) { return !kind.languages.empty(); };
  if (std::ranges::none_of(manifest_.target_kinds, has_languages))
    return skipped("the manifest has no target kind with languages");
  if (builds_.empty())
    return not_run("no builds: pass --payloads FILE with builds, see CONFORMANCE.md");
  return &builds_;
}

Result<PluginEntry> Subject::entry() const {
  GANTRY_TRY(const auto file, MappedFile::open(manifest_.library_path));
  const PluginCall record("a constructor");
  GANTRY_TRY(const LibraryHandle library, LibraryHandle::open(manifest_.library_path, *file));
  const auto query =
      reinterpret_cast<decltype(PluginEntry::query)>(library.symbol("gantry_plugin_query_v1"));
  if (query == nullptr)
    return bug(manifest_.library_path, " does not export gantry_plugin_query_v1");
  return PluginEntry{query};
}

Result<std::shared_ptr<const LoadedPlugin>> Subject::plugin() const {
  auto plugin = open_plugin(manifest_, core_info());
  if (!plugin.ok()) return not_run("the plugin cannot be opened, see case 16");
  return plugin;
}

Result<std::shared_ptr<RuntimeState>> Subject::runtime(const Observation& observed) const {
  EngineOptions options;
  // Without the configuration of the vendor's host.
  options.config_file = "/dev/null";
  options.plugin_files = {manifest_.file};
  const auto has_imports = [](const Payload& payload) { return !payload.artifact.empty(); };
  if (std::ranges::any_of(payloads_, has_imports))
    options.plugin_files.insert(options.plugin_files.end(), options_.beside.begin(),
                                options_.beside.end());
  options.only_these_plugins = true;
  options.threads = 2;
  options.spin_us = 0;
  options.log_level = "error";
  options.trace = observed.traces;
  options.work_sink = observed.works;
  // The case is a process of its own.
  options.probe = false;
  return RuntimeState::create(std::move(options));
}

Result<std::unique_ptr<Bench>> Bench::open(const Subject& subject,
                                           const std::vector<ConfigText>& values) {
  std::unique_ptr<Bench> bench(new Bench);
  GANTRY_TRY(bench->state_, subject.runtime());
  GANTRY_TRY(bench->plugin_, subject.plugin());
  bench->host_ = std::make_unique<PluginHost>();
  bench->host_->state = bench->state_.get();
  bench->host_->plugin = bench->plugin_->id;
  GANTRY_CHECK(add_options(*bench->state_, subject.manifest(), values, *bench->host_));
  fill_host_table(*bench->host_, bench->plugin_->abi_minor);
  // A plugin may request the numbers of its devices while it is created.
  for (const gantry_device_table& device : bench->plugin_->devices) {
    GANTRY_CHECK(bench->state_->devices.reserve(device.name, &device, bench->plugin_->id));
  }
  return bench;
}

Result<Instance> Instance::create(const LoadedPlugin& plugin, const gantry_host* host) {
  void* self = nullptr;
  StatusBuffer status;
  const PluginCall record("create");
  const gantry_code code = status.call(
      [&](gantry_status* failure) { return plugin.table.create(host, &self, failure); });
  if (code != GANTRY_OK) return status.error(code, "create");
  return Instance(&plugin, self);
}

Result<Instance> created(const LoadedPlugin& plugin, const gantry_host* host) {
  auto instance = Instance::create(plugin, host);
  if (!instance.ok()) return not_run("create fails: ", first_line(instance.error()));
  return instance;
}

Instance::~Instance() {
  if (plugin_ == nullptr) return;
  const PluginCall record("destroy");
  plugin_->table.destroy(self_);
}

std::string first_line(const Error& error) {
  const std::string text = error.message.text();
  return text.substr(0, text.find('\n'));
}

}  // namespace gantry::kit
