// SPDX-License-Identifier: Apache-2.0
//
// The runtime's configuration: runtime.yaml and its drop-ins as a struct. configs/runtime.yaml
// contains every key with its default.
#pragma once

#include "core/base/log.hpp"
#include "core/base/yaml/yaml_record.hpp"
#include "core/plugins/manifest/config_option.hpp"
#include "core/plugins/trust/lock_file.hpp"
#include "core/plugins/trust/trust_file.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

constexpr int kMaxThreads = 1024;
constexpr int kMaxCpu = 65535;
constexpr int kMaxSpinUs = 1'000'000;

constexpr std::int64_t kMaxMemoryLimitMib = std::int64_t{1} << 30;

// A glob of plugins.disable or plugins.select, and the file that contains it.
struct ConfigGlob {
  std::string glob, file;
};
// type key or device -> plugin id
struct ConfigOverride {
  std::string what, id, file;
};
// backends.<id>.config
struct ConfigBackend {
  std::string id;
  std::vector<ConfigText> options;
  std::string file;
};
// devices.<name>
struct ConfigDevice {
  std::string name;
  // of all devices of this kind together; 0: not limited
  std::int64_t memory_limit_bytes = 0;
  std::string file;
};

struct Config {
  // in the order of application; empty: defaults
  std::vector<std::string> files;
  // plugins.manifests, plugins.dirs, absolute
  std::vector<std::string> manifests, dirs;
  // globs on id and file name
  std::vector<ConfigGlob> disable, select;
  // plugins.user: search the user's directory
  bool user_plugins = true;
  // the file that sets it
  std::string user_plugins_file;
  // plugins.fallback: if a plugin fails, try the next one that serves the key
  bool fallback = true;
  // strict: a load refuses every module that no usable plugin serves
  bool strict = false;
  // the file that sets it
  std::string strict_file;
  // plugins.trust and plugins.lock, absolute; need not exist
  std::string trust_file = std::string(kSystemTrustFile);
  std::string lock_file = std::string(kSystemLockFile);
  // at most one for each key; the file that was applied last decides
  std::vector<ConfigOverride> overrides;
  // a later one overrides earlier ones of the same id, option by option
  std::vector<ConfigBackend> backends;
  // at most one for each name
  std::vector<ConfigDevice> devices;
  // environment: GANTRY_* variables that name plugins, files and options are used
  bool environment = true;
  // the file that sets it to deny
  std::string environment_file;
  // of the pool, including the caller; 0: as the environment states, else one for each CPU
  // that this process may use
  int threads = 0;
  // on which the pool's threads run; empty: all that this process may use
  std::vector<int> cpus;
  // how long a waiting thread of the pool spins before it sleeps, in microseconds
  int spin_us = 400;
  // directory, "none", or empty: the user's cache directory
  std::string cache;
  LogLevel log = LogLevel::warning;

  // The files, for messages; "the configuration" if there is none.
  std::string source() const;
};

// The fields of a configuration; equal to configs/schema/runtime.schema.json.
std::span<const YamlField> config_fields();

// Applies a configuration text: a scalar replaces the earlier one, a list is appended, maps are
// merged. Relative paths are relative to the directory of `file`.
//
// returns  malformed, with the text of core/base/yaml: "<file>:<line>:<column>: threads: expected ..."
Status apply_config(std::string_view text, const std::string& file, Config& config);
// The same on the defaults.
Result<Config> parse_config(std::string_view text, const std::string& file);

// Parses a list of CPUs as taskset(1) takes it: "0-3,8".
//
// returns  invalid, with the part that is none, or if the ranges together have more than
//          kMaxCpu + 1 CPUs; sorted and unique
Result<std::vector<int>> parse_cpus(std::string_view text);

}  // namespace gantry
