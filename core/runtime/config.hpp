// SPDX-License-Identifier: Apache-2.0
//
// The runtime's configuration: runtime.yaml as a struct. configs/runtime.yaml shows every key with its default.
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

struct Config {
  // where it was read from; empty: defaults
  std::string file;
  // plugins.manifests, absolute
  std::vector<std::string> manifests;
  // plugins.dirs, absolute
  std::vector<std::string> dirs;
  // plugins.disable, globs on id and file name
  std::vector<std::string> disable;
  // plugins.select
  std::vector<std::string> select;
  // plugins.overrides: type key to plugin id
  std::vector<std::pair<std::string, std::string>> overrides;
  // backends.<id>.config
  std::vector<std::pair<std::string, std::vector<ConfigText>>> backends;
  // of the pool, caller included; 0: all that this process may run on
  int threads = 0;
  // directory, "none", or empty: the user's cache directory
  std::string cache;
  LogLevel log = LogLevel::warning;
};

// The fields of a configuration. configs/schema/runtime.schema.json says the same.
std::span<const YamlField> config_fields();

// Reads a configuration text. Relative paths are relative to the directory of `file`.
//
// returns  malformed as core/yaml says it: "<file>:<line>:<column>: threads: expected ..."
Result<Config> parse_config(std::string_view text, const std::string& file);

// Reads a file: the one named, else kSystemConfigFile where it is there, else the defaults.
//
// named    empty: none was named; else it must exist
Result<Config> read_config(const std::string& named);

}  // namespace gantry
