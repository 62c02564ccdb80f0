// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/loader.h>
#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct Artifact;
struct RuntimeState;

// The result of checking one payload for one device with the plugin that serves its type key.
struct PayloadCheck {
  // index of the module
  std::size_t entry = 0;
  // `entry 1 "opencl" of model.so`
  std::string location;
  // id
  std::string plugin;
  // "opencl:0"; empty: the host
  std::string device;
  // GANTRY_VERDICT_*; unsupported if the plugin cannot check payloads
  Result<std::int32_t> verdict = GANTRY_VERDICT_NO;
  // Kernels of a device that the model does not use: a load does not require that they run.
  bool is_unused = false;
};

// "no", "recompile", "usable", "optimal"
constexpr std::string_view name_of_verdict(std::int32_t verdict) {
  constexpr std::string_view names[] = {"no", "recompile", "usable", "optimal"};
  return names[static_cast<std::size_t>(verdict)];
}

// Checks one payload for every device of its kind. Opens the plugin that serves its type key; loads
// no payload. If it cannot be checked for any device, returns one element with the error.
//
// entry    [in]   index of a module with a payload
std::vector<PayloadCheck> check_payload(RuntimeState& state, const Artifact& artifact,
                                        std::size_t entry);

// Returns the indices of the modules whose payload a usable plugin serves. Opens no plugin.
std::vector<std::size_t> served_payloads(RuntimeState& state, const Artifact& artifact);

// Checks every payload of a file whose type key a plugin serves, for every device of its kind.
// Opens these plugins; loads no payload.
//
// artifact [in]   its container is read
// costs    those of check_binary, once for each payload and device
std::vector<PayloadCheck> check_payloads(RuntimeState& state, const Artifact& artifact);

}  // namespace gantry
