// SPDX-License-Identifier: Apache-2.0
//
// Type keys of a file that no usable plugin serves: the error of its load, the reason of a module that
// stays unbound, and the warning about kernels that are left out.
#pragma once

#include "core/engine/runtime/default_devices.hpp"
#include "core/plugins/choice/explain.hpp"

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct RuntimeState;

// Returns one error for all keys that no plugin serves; OK if there are none.
//
// requirements  [in]   the modules that require each key
// file_name     [in]   for messages
// returns       unavailable, or unsupported if only vendors' plugins serve them; reason NO_PLUGIN
Status check_served(const RuntimeState& state, const std::vector<Requirement>& requirements,
                    std::string_view file_name);

// Returns why no plugin serves a key, in one sentence, because every failed look-up repeats it.
// explain() has the details.
//
// failure  [in]   of the search or the plugin
std::string why_missing(const RuntimeState& state, const Requirement& requirement,
                        const Error& failure);

// Logs the warning about kernels that are left out, because the model does not use their device.
//
// why      [in]   of why_missing()
// returns  the reason of the modules, full text
std::string leave_out(const RuntimeState& state, const Requirement& requirement,
                      const UsedDevices& used, std::string_view why);

}  // namespace gantry
