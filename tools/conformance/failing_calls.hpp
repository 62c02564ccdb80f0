// SPDX-License-Identifier: Apache-2.0
//
// Calls of a plugin that fail, or are likely to: unknown flags, damaged payloads, indices that are
// out of range.
#pragma once

#include "tools/conformance/subject.hpp"

#include "core/engine/tensor/object.hpp"

#include <gantry/loader.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gantry::kit {

struct FailingCall {
  // "load_binary of 1 byte for key example.null"
  std::string name;
  // "load_binary"
  std::string function;
  // Releases what the call creates if it succeeds.
  std::function<gantry_code(gantry_status* status)> call;

  // Makes the call. An exception leaves it.
  gantry_code make(gantry_status* status) const;
  // Makes the call. An exception, which case 41 reports, is GANTRY_OK.
  gantry_code operator()(gantry_status* status) const;
};

// Makes all calls, each with a status, for cases that check something else.
//
// state    [in]   of the bench; has the nodes of modules
void make_failing_calls(const Instance& instance, RuntimeState& state);

// Returns the calls. They borrow the instance and the state.
std::vector<FailingCall> failing_calls(const Instance& instance, RuntimeState& state);

// An exact blob for these bytes.
gantry_blob blob_of(std::string_view key, std::span<const std::uint8_t> bytes, gantry_object* pin);

// A pin that keeps nothing alive.
ObjectPtr empty_pin();

}  // namespace gantry::kit
