// SPDX-License-Identifier: Apache-2.0
//
// A kind of compilation target as data: the options that a target of it may have. Plugins declare
// their kinds in their manifests (sdk/MANIFEST.md); host_target_kinds() has those of the host.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gantry {

enum class TargetType { boolean, integer, text, list };
// The name in manifests and messages: "bool", "int", "string", "list".
std::string_view name_of(TargetType type);

// In the order of TargetType.
using TargetValue = std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;

struct TargetOption {
  // "max_num_threads"
  std::string name;
  TargetType type = TargetType::text;
  // the value in targets that do not state one; none: the option is then absent
  std::optional<TargetValue> fallback = {};
  // one line
  std::string doc = {};
  // the attribute of a device (`gantry devices`) that `from_device` reads; empty: none
  std::string attribute = {};
  // text: how the attribute is written in targets, "sm_*": its value without points replaces the
  // star; empty: unchanged
  std::string spelling = {};
};

// A named set of values.
struct TargetTag {
  // "nvidia/nvidia-t4"
  std::string name;
  std::vector<std::pair<std::string, TargetValue>> values;
};

struct TargetKind {
  // "cuda"
  std::string name;
  // kind of device: "cpu", or one of the same manifest
  std::string device = "cpu";
  // of that device; 0: the runtime assigns one
  std::int32_t device_type = 1;
  // default keys
  std::vector<std::string> keys = {};
  // type key of the payloads that the plugin's code generator writes; empty: it has none
  std::string type_key = {};
  // languages of sources that the generator reads: "cuda"
  std::vector<std::string> languages = {};
  std::vector<TargetOption> options = {};
  std::vector<TargetTag> tags = {};

  // NULL: neither an option of this kind nor one of common_target_options().
  const TargetOption* find(std::string_view option) const;
};

// Options of every kind, without `keys`, `tag` and `host`, which are members of a CompileTarget.
//
// source   apache/tvm src/target/target_kind.cc
std::span<const TargetOption> common_target_options();

// The kinds of the host: llvm and c.
//
// source   as above
std::vector<TargetKind> host_target_kinds();

// Converts the text of a value; a list has commas.
//
// returns  invalid: `expected int, found "x"`
Result<TargetValue> target_value(TargetType type, std::string_view text);

// True for [a-z][a-z0-9_-]*, the names of kinds.
bool is_target_kind_name(std::string_view name);
// True for [a-zA-Z][a-zA-Z0-9_.-]*, the names of options.
bool is_target_option_name(std::string_view name);

}  // namespace gantry
