// SPDX-License-Identifier: Apache-2.0
//
// A compilation target: a kind with values of its options, and the target of its CPU code.
//
//     cuda -arch=sm_90 -host="llvm -mcpu=znver4"
//     {"kind": "cuda", "arch": "sm_90", "host": {"kind": "llvm", "mcpu": "znver4"}}
//
// Both forms are those of Apache TVM; parse_target() reads both.
//
//     text    kind or tag, then options: -name=value, --name=value, -name value; -name alone sets a
//             bool. A list has commas. A backslash makes the next character literal; quotes, ' or ",
//             group blanks
//     JSON    kind or tag, keys, host (an object, or a target as text), and options
#pragma once

#include "core/base/json_writer.hpp"
#include "core/formats/target/target_kinds.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct CompileTarget {
  std::string kind;
  // the tag whose values it has; empty: none
  std::string tag;
  std::vector<std::string> keys;
  // of the CPU code: none or one, which has no host
  std::vector<CompileTarget> host;
  std::map<std::string, TargetValue, std::less<>> values;
  // 0: the runtime assigns one
  std::int32_t device_type = 0;

  // "" if the option is absent or not a text.
  std::string text(std::string_view option) const;
  friend bool operator==(const CompileTarget&, const CompileTarget&) = default;
};

// Returns an attribute of a device on this host; nullopt: the device does not have it.
//
// device    [in]   the kind's device: "cuda"
// attribute [in]   as `gantry devices` names it
// returns   the error of the device
using DeviceAttributes = std::function<Result<std::optional<std::string>>(
    std::string_view device, std::int64_t index, std::string_view attribute)>;

// Size of a target's text or JSON.
constexpr std::size_t max_target_bytes = 64 * 1024;

// Reads a target in either form, checks it, and fills in what it does not state: the values of its
// tag, then the attributes of the device that `from_device` names, then the defaults of its kind.
// `from_device` itself is not a part of the result.
//
// attributes [in]   empty: `from_device` is refused
// returns    MALFORMED  with the offset in the text: an unknown kind, tag or option, each with
//                       similar names; a wrong type; an option that is given twice
//            the errors of `attributes`
// source     apache/tvm src/target/target.cc, FromConfig and FromRawString
Result<CompileTarget> parse_target(std::string_view text, const TargetKinds& kinds,
                                   const DeviceAttributes& attributes = {});

// Prints the canonical JSON: kind, tag, keys, host, then the options sorted bytewise.
//
std::string target_json(const CompileTarget& target, const JsonStyle& style = {.lines = false});

// Prints the text form, which parse_target() reads as the same target.
std::string target_text(const CompileTarget& target);

}  // namespace gantry
