// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace gantry::cli {

// Takes a text piece by piece, so that what grows with a file need not be held: print(), or an append
// to a string.
using TextSink = std::function<void(std::string_view)>;

}  // namespace gantry::cli
