// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace gantry::cli {

// Receives a text in pieces, so that output that grows with a file is not held in memory: print(),
// or an append to a string.
using TextSink = std::function<void(std::string_view)>;

}  // namespace gantry::cli
