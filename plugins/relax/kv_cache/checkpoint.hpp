// SPDX-License-Identifier: Apache-2.0
//
// The description of a sequence whose pages a program stores outside of the cache. Pages go to a
// cache of the same layout only.
#pragma once

#include "cache_arguments.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::relax {

// Everything that decides the bytes of a page: "layers=2,heads=1,dimension=16,page=16,float32,rope=1".
std::string kv_layout(const CacheArguments& arguments);

// Returns the description as JSON.
//
// tokens   [in]   of the sequence
std::string checkpoint_text(const CacheArguments& arguments, std::int32_t tokens);

// Returns the number of tokens of a description.
//
// returns  INVALID (KV_CHECKPOINT)  the text is no description, or one of another layout
Result<std::int32_t> read_checkpoint(const CacheArguments& arguments, std::string_view text);

}  // namespace gantry::relax
