// SPDX-License-Identifier: Apache-2.0
//
// JSON as --json prints it: keys in the order in which they are set, one document on stdout, ASCII
// only. Texts from files go through json_text() first.
#pragma once

#include <nlohmann/json.hpp>

namespace gantry::cli {

using Json = nlohmann::ordered_json;

inline std::string document_text(const Json& json) { return json.dump(2, ' ', true) + "\n"; }

}  // namespace gantry::cli
