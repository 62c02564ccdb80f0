// SPDX-License-Identifier: Apache-2.0
//
// The runtime's configuration: runtime.yaml as a struct. configs/runtime.yaml contains every key
// with its default.
#pragma once

#include "core/base/log.hpp"
#include "core/manifest/config_option.hpp"
#include "core/yaml/yaml_record.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

constexpr std::string_view kSystemConfigFile = "/etc/gantry/runtime.yaml";
constexpr int kMaxThreads = 1024;
constexpr int kMaxSpinUs = 1'000'000;

struct Config {
  // path of the file; empty: defaults
  std::string file;
  // plugins.manifests, absolute
  std::vector<std::string> manifests;
  // plugins.dirs, absolute
  std::vector<std::string> dirs;
  // plugins.disable, globs on id and file name
  std::vector<std::string> disable;
  // plugins.select
  std::vector<std::string> select;
  // plugins.user: search the user's directory
  bool user_plugins = true;
  // plugins.overrides: type key to plugin id
  std::vector<std::pair<std::string, std::string>> overrides;
  // backends.<id>.config
  std::vector<std::pair<std::string, std::vector<ConfigText>>> backends;
  // of the pool, including the caller; 0: one for each CPU that this process may use
  int threads = 0;
  // how long a waiting thread of the pool spins before it sleeps, in microseconds
  int spin_us = 400;
  // directory, "none", or empty: the user's cache directory
  std::string cache;
  LogLevel log = LogLevel::warning;
};

// The fields of a configuration; equal to configs/schema/runtime.schema.json.
std::span<const YamlField> config_fields();

// Reads a configuration text. Relative paths are relative to the directory of `file`.
//
// returns  malformed, with the text of core/yaml: "<file>:<line>:<column>: threads: expected ..."
Result<Config> parse_config(std::string_view text, const std::string& file);

// Reads a configuration file: `named`, otherwise kSystemConfigFile if it exists, otherwise none:
// the result then has the defaults.
//
// named    [in]   must exist; empty: none
Result<Config> read_config(const std::string& named);

}  // namespace gantry
