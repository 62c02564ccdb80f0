// SPDX-License-Identifier: Apache-2.0
//
// Functions that an executable and its machines have alike.
#pragma once

#include "loaded.hpp"

#include "core/formats/relay_program.hpp"

#include <gantry/call.hpp>
#include <gantry/handle.hpp>

#include <cstddef>
#include <cstdint>

namespace gantry::relay {

// Of lists in messages.
constexpr std::size_t max_listed_names = 16;

// Returns the index of the function that an argument names.
//
// returns  NOT_FOUND  the text lists the functions (FUNCTION)
Result<std::uint32_t> function_of(const Program& program, const Call& call, std::size_t argument);

// get_function_arity(function)
Result<Value> arity_of(const Program& program, const Call& call);
// get_function_param_name(function, index)
Result<Value> param_name_of(const Host& host, const Program& program, const Call& call);
// load_late_bound_consts(path)
Result<Value> load_constants(Loaded& code, const Host& host, const Call& call);

}  // namespace gantry::relay
