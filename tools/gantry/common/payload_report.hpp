// SPDX-License-Identifier: Apache-2.0
//
// What `gantry plugins doctor` prints about the payloads of an artifact.
#pragma once

#include "core/base/json_writer.hpp"
#include "core/engine/runtime/payload_check.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gantry::cli {

// True if each payload can run on some device, or its plugin does not check payloads.
bool all_run(const std::vector<PayloadCheck>& checks);

// One line for each payload and device.
std::string payload_checks_text(const std::vector<PayloadCheck>& checks);

// The field "payloads"; null where none were checked.
void write_payload_checks(const std::optional<std::vector<PayloadCheck>>& checks, JsonWriter& json);

}  // namespace gantry::cli
