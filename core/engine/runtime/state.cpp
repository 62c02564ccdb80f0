// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/state.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/forks.hpp"
#include "core/base/process_end.hpp"
#include "core/base/text.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/module/function.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/runtime/config_files.hpp"
#include "core/engine/runtime/plugin_options.hpp"
#include "core/plugins/choice/declared_layouts.hpp"
#include "core/plugins/choice/explain.hpp"
#include "core/plugins/library/table_copy.hpp"
#include "core/plugins/manifest/config_values.hpp"
#include "core/plugins/manifest/manifest_cache.hpp"
#include "core/plugins/probe/prober.hpp"
#include "core/plugins/trust/trust.hpp"

#include <gantry/note.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/cache_directory.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <filesystem>
#include <string_view>

namespace gantry {
namespace {

// NULL with OK: the plugin does not have the function.
Result<Ref<FunctionObject>> find_in(RuntimeState& state, const ActivePlugin& plugin,
                                    std::string_view name) {
  const std::string subject = concat("get_global of plugin ", plugin.plugin->id);
  if (!plugins_may_run()) return process_end_error(subject);
  const PluginInstance& instance = instance_of(plugin);
  const auto* offered = static_cast<const gantry_globals*>(
      plugin.plugin->table.get_extension(instance.self(), GANTRY_GLOBALS_1));
  GANTRY_TRY(const gantry_globals globals,
             copy_table(offered, concat("plugin ", plugin.plugin->id)));
  StatusBuffer status;
  gantry_function function{};
  const auto owner = [&] { return concat("plugin ", plugin.plugin->id); };
  const gantry_code code =
      call_plugin(status, "get_global", plugin.plugin->id, owner, [&](gantry_status* reported) {
        return globals.get_global(instance.self(), {name.data(), name.size()}, &function, reported);
      });
  if (code == GANTRY_NOT_FOUND) return Ref<FunctionObject>();
  if (code != GANTRY_OK) return status.error(code, subject).at("while looking up ", quoted(name));
  return adopt_function(
      function, [&] { return subject; }, name, {}, 0, state.trace.get(), state.life());
}

// Looks up a function that plugins provide to compiled code (gantry/globals.h). Opens the plugins
// whose manifests list the name, in order of preference, until one has the function.
//
// returns  NULL with OK: no manifest lists the name; not_found: the plugins that list it do not
//          have it; the error of the last plugin that fails, if no other one has it
// thread   any
Result<Ref<FunctionObject>> find_plugin_global(RuntimeState& state, std::string_view name) {
  const std::vector<std::size_t> choices = state.plugins->choices_for_global(name);
  if (choices.empty()) return Ref<FunctionObject>();
  std::optional<Error> failure;
  for (const std::size_t choice : choices) {
    const auto find = [&]() -> Result<Ref<FunctionObject>> {
      GANTRY_TRY(const auto plugin, state.plugins->open(choice));
      return find_in(state, *plugin, name);
    };
    auto found = find();
    if (found.ok() && *found) return found;
    if (!found.ok()) failure = std::move(found).error();
  }
  if (failure) return std::move(*failure).at("which offers the global function ", quoted(name));
  const auto id_of = [&](std::size_t choice) {
    return state.plugins->candidate(choice).manifest->id;
  };
  return not_found("global function ", quoted(name), " not found; ", join(choices, ", ", id_of),
                   choices.size() == 1 ? " offers" : " offer", " it by manifest and ",
                   choices.size() == 1 ? "does" : "do", " not have it")
      .with_reason("GLOBAL_MISSING");
}

Log::Sink sink_of(const EngineOptions& options) {
  if (!options.log_sink) return {};
  return [sink = options.log_sink](LogLevel level, std::string_view line) {
    sink(static_cast<std::int32_t>(level), line);
  };
}

LogLevel level_of(const EngineOptions& options, const Config& config) {
  LogLevel level = config.log;
  parse_log_level(options.log_level, level);
  return level;
}

std::shared_ptr<ThreadPool> pool_of(const EngineOptions& options, const Config& config,
                                    const Environment& environment, const Log& log) {
  if (options.pool != nullptr) return options.pool;
  int threads = options.threads != 0 ? options.threads : config.threads;
  if (threads == 0) {
    const auto stated = stated_threads(environment);
    if (!stated.ok()) log.warning(Message(stated.error().message, "; it is ignored"));
    threads = stated.ok() ? *stated : 0;
  }
  const int spin_us = options.spin_us >= 0 ? options.spin_us : config.spin_us;
  return std::make_shared<ThreadPool>(threads, std::chrono::microseconds(spin_us), &log,
                                      config.cpus);
}

std::string cache_of(const Config& config, const Environment& environment) {
  if (config.cache == "none") return {};
  return config.cache.empty() ? environment.cache_directory : config.cache;
}

// A host's cache directory is the administrator's or a service's: other users keep their files in
// their own one, and nothing if they have none that they can write.
//
// returns  the directory that is not used; empty: the one of the configuration is
std::string replace_denied_cache(Config& config, const Environment& environment) {
  std::string denied;
  for (const std::string& other : {std::string(), std::string("none")}) {
    const std::string cache = cache_of(config, environment);
    if (cache.empty() || !CacheDirectory(cache, {}).is_denied()) break;
    if (denied.empty()) denied = cache;
    config.cache = other;
  }
  return denied;
}

std::string normal_path(const std::string& path) {
  return absolute_path(path).lexically_normal().string();
}

LinkCacheOptions link_options(const std::string& cache_directory, const Environment& environment,
                              const Log& log) {
  LinkCacheOptions options;
  options.directory = cache_directory;
  options.elevated = environment.elevated;
  const std::vector<std::string> compiler = words_of(environment.compiler);
  if (!compiler.empty()) options.compiler = compiler;
  if (!environment.program_path.empty()) options.search.path = environment.program_path;
  if (!environment.temporary_directory.empty()) options.temporary = environment.temporary_directory;
  options.log = [&log](const Message& text) { log.warning(text); };
  return options;
}

PluginLocations locations_of(const EngineOptions& options, const Config& config,
                             const Environment& environment) {
  PluginLocations locations;
  const auto absolute = [](const std::vector<std::string>& paths) {
    std::vector<std::string> all;
    for (const std::string& path : paths) all.push_back(normal_path(path));
    return all;
  };
  locations.manifests = absolute(options.plugin_files);
  locations.directories = absolute(options.plugin_dirs);
  locations.exclusive = options.only_these_plugins;
  locations.config_file = config.source();
  locations.config_manifests = config.manifests;
  locations.config_directories = config.dirs;
  locations.plugin_files = environment.plugin_files;
  locations.add_plugin_files = environment.add_plugin_files;
  locations.core_directory = core_directory();
  if (!environment.data_directory.empty())
    locations.user_directory = environment.data_directory + "/plugins.d";
  if (!config.user_plugins) locations.user_excluded_by = config.user_plugins_file;
  locations.reads_excluded = config.environment || !environment.names_data_directory;
  locations.privileged = environment.elevated;
  return locations;
}

std::vector<PluginFilter> filters_of(const Config& config, const Environment& environment) {
  std::vector<PluginFilter> filters;
  for (const auto& [glob, file] : config.disable)
    filters.push_back({glob, false, "plugins.disable of " + file});
  for (const auto& [glob, file] : config.select)
    filters.push_back({glob, true, "plugins.select of " + file});
  const auto add_list = [&](const std::optional<std::string>& list, bool select, const char* name) {
    if (!list) return;
    for (PluginFilter& filter : parse_filters(*list, select, name))
      filters.push_back(std::move(filter));
  };
  add_list(environment.disable, false, "GANTRY_DISABLE");
  add_list(environment.select, true, "GANTRY_SELECT");
  return filters;
}

// The SDK is released with the core.
static_assert(std::string_view(GANTRY_SDK_VERSION) == GANTRY_CORE_VERSION);

// In an elevated process only the system's configuration names other files.
TrustOptions trust_of(const EngineOptions& options, const Config& config,
                      const Environment& environment) {
  TrustOptions trust;
  trust.elevated = environment.elevated;
  trust.core_directory = core_directory();
  if (environment.elevated && !options.config_file.empty()) return trust;
  trust.trust_file = config.trust_file;
  trust.lock_file = config.lock_file;
  return trust;
}

Message ignored_warning(const RuntimeState& state, const std::string& variable) {
  return {name_of(reason::environment_ignored), ": variable ", variable, " is ignored: ",
          state.environment.elevated
              ? "this process is elevated"
              : concat("environment is deny in ", state.config.environment_file)};
}

std::unique_ptr<Prober> new_prober(const RuntimeState& state) {
  ProberOptions options;
  options.program = find_probe(library_directory());
  // Read by gantry-probe, later, when the working directory may be another.
  if (!state.options.config_file.empty())
    options.config_file = normal_path(state.options.config_file);
  options.cache_directory = state.cache_directory;
  options.core = core_info();
  options.environment = [](const Manifest& manifest) {
    return probe_environment(config_variable(manifest.id, ""), manifest.env_allow);
  };
  options.plugin_options = [&state](const Manifest& manifest) {
    return plugin_options_digest(state, manifest);
  };
  options.log = &state.log;
  return std::make_unique<Prober>(std::move(options));
}

// In an elevated process the user that may write the cache is not trusted with what it contains.
ManifestCache::Options manifest_cache_options(const RuntimeState& state,
                                              const SearchResult& found) {
  ManifestCache::Options options;
  if (!state.environment.elevated) options.directory = state.cache_directory;
  options.search = search_key(found);
  options.log = &state.log;
  return options;
}

Failure runtime_ends(std::string_view device) {
  return unavailable(device, " not found, the runtime ends").with_reason("RUNTIME_ENDS");
}

}  // namespace

const gantry_host_info& core_info() {
  static const gantry_host_info info{
      sizeof(gantry_host_info), 0, {GANTRY_ABI_MAJOR, 0, GANTRY_ABI_MINOR, 0}, GANTRY_CORE_VERSION};
  return info;
}

RuntimeState::RuntimeState(EngineOptions given, Config read, Environment found)
    : forks(watch_forks()),
      options(std::move(given)),
      config(std::move(read)),
      environment(std::move(found)),
      cache_directory(cache_of(config, environment)),
      log(level_of(options, config), sink_of(options)),
      trace(options.trace ? std::make_unique<TraceRecorder>() : nullptr),
      globals(std::make_shared<GlobalFunctions>(
          [this](std::string_view name) { return find_plugin_global(*this, name); })),
      workspaces(devices),
      pool(pool_of(options, config, environment, log)),
      layouts(PayloadLayouts::built_in()),
      links(link_options(cache_directory, environment, log)) {
  if (trace) pool->record_tasks(*trace);
  host.pool = pool.get();
  host.workspaces = &workspaces;
  host.log = &log;
  host.binds_early = environment.binds_early;
  host.globals = globals;
  host.types = ffi::TypeRegistry::create();
  host.registered = globals;
  host.devices = &devices;
}

RuntimeState::~RuntimeState() {
  // Frees the blocks on devices while their plugins exist.
  workspaces.close();
}

Status RuntimeState::check_process() const {
  if (forks == fork_count()) [[likely]]
    return {};
  return unavailable("the runtime is not used: it was created before this process was forked",
                     forked_remedy)
      .with_reason("PROCESS_FORKED");
}

Result<std::shared_ptr<RuntimeState>> RuntimeState::create(EngineOptions options) {
  if (LogLevel level{}; !options.log_level.empty() && !parse_log_level(options.log_level, level)) {
    return invalid("log level is ", quoted(options.log_level),
                   ", expected error, warning, info or debug");
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return invalid("threads is ", options.threads, ", expected 0 to ", kMaxThreads);
  }
  if (options.spin_us < -1 || options.spin_us > kMaxSpinUs) {
    return invalid("spin_us is ", options.spin_us, ", expected -1 to ", kMaxSpinUs);
  }
  Environment environment = read_environment();
  GANTRY_TRY(Config config,
             read_config({.file = options.config_file, .elevated = environment.elevated}));
  if (!config.environment) environment.forbid();
  const std::string denied = replace_denied_cache(config, environment);
  const std::string cache = cache_of(config, environment);
  const Status usable = cache.empty() ? Status() : CacheDirectory(cache, {}).check();
  if (!usable.ok()) config.cache = "none";
  auto state =
      std::make_shared<RuntimeState>(std::move(options), std::move(config), std::move(environment));
  if (!usable.ok()) {
    state->log.warning(
        {usable.error().message,
         "; set XDG_CACHE_HOME, or `cache` of the configuration, to a directory that "
         "no other user can change"});
  }
  if (!denied.empty()) {
    state->log.info({"cache directory ", denied, " cannot be written by this user, ",
                     state->cache_directory.empty() ? "nothing" : state->cache_directory,
                     " is used instead"});
  }
  state->devices.keep(state);
  state->host.life = state;
  for (const ConfigDevice& device : state->config.devices) {
    if (device.memory_limit_bytes == 0) continue;
    state->devices.limit_memory(
        device.name, device.memory_limit_bytes,
        concat("devices.", device.name, ".memory_limit_mib of ", device.file));
  }
  GANTRY_CHECK(add_host_globals(*state->globals));
  state->program.state = state.get();
  GANTRY_CHECK(add_host_options(state->program));
  fill_host_table(state->program, GANTRY_ABI_MINOR);

  const Span span(state->trace.get(), "find plugins", "plugin");
  SearchResult found =
      search_plugins(locations_of(state->options, state->config, state->environment));
  for (const std::string& name : state->environment.ignored)
    found.warnings.push_back(ignored_warning(*state, name));
  ChoiceOptions set;
  set.filters = filters_of(state->config, state->environment);
  for (const ConfigOverride& each : state->config.overrides)
    set.overrides.emplace_back(each.what, each.id);
  set.fallback = state->config.fallback;
  set.fallback_source = state->config.source();
  set.core = core_info();
  set.opened = &OpenedPlugins::of_process();
  set.create = [raw = state.get()](const std::shared_ptr<const LoadedPlugin>& plugin,
                                   const Manifest& manifest) -> Result<std::shared_ptr<void>> {
    GANTRY_TRY(std::shared_ptr<void> instance, PluginInstance::create(*raw, plugin, manifest));
    return instance;
  };
  state->prober = new_prober(*state);
  if (state->options.probe) set.prober = state->prober.get();
  set.log = &state->log;
  GANTRY_TRY(Trust trust, Trust::open(trust_of(state->options, state->config, state->environment)));
  set.trust = std::make_shared<const Trust>(std::move(trust));
  ManifestCache manifests(manifest_cache_options(*state, found));
  state->plugins = std::make_unique<PluginSet>(std::move(found), std::move(set), &manifests);
  manifests.save();
  for (const std::string& name : ignored_variables(*state))
    state->plugins->add_warning(ignored_warning(*state, name));
  GANTRY_CHECK(state->plugins->check_required());
  add_declared_layouts(state->plugins->candidates(), state->plugins->served_keys(), state->layouts);
  return state;
}

Result<std::shared_ptr<const Device>> RuntimeState::device(std::int32_t type) {
  if (const auto* there = devices.find(type)) return *there;
  const std::string_view name = dlpack_name(type);
  if (!name.empty()) return device(name);
  if (weak_from_this().expired()) return runtime_ends(concat("device number ", type));
  return devices.get(type);
}

Result<std::shared_ptr<const Device>> RuntimeState::device(std::string_view kind) {
  if (const auto* there = devices.find(kind)) return *there;
  // Called by a plugin while it is destroyed.
  if (weak_from_this().expired()) return runtime_ends(concat("device ", quoted(kind)));
  // A plugin that is opened has the devices of its manifest.
  (void)plugins->for_device(kind);
  if (const auto* there = devices.find(kind)) return *there;
  Explanation explanation = explain(*plugins, {Requirement{std::string(kind), true, {}}});
  add_changes(*plugins, explanation);
  std::vector<std::string> served = plugins->served_devices();
  served.emplace(served.begin(), "cpu");
  return unserved_error(explanation, concat("device ", quoted(kind)))
      .at("devices that are served: ", join(served));
}

}  // namespace gantry
