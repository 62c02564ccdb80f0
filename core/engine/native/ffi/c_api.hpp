// SPDX-License-Identifier: Apache-2.0
//
// The functions of tvm-ffi's C API, tvm/ffi/c_api.h and tvm/ffi/extra/c_env_api.h, for libraries that are
// written with its C++ headers. ffi_functions.hpp has the seven that compiled code calls.
//
// Each returns 0, or -1 after a failure, whose error the thread then holds. What a library registers
// belongs to the runtime whose call the thread is in, or that is opening the library.
#pragma once

#include "core/engine/native/context.hpp"

#include <gantry/object.h>
#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>

namespace gantry::ffi {

// The release of tvm-ffi whose API this is.
inline constexpr std::uint32_t api_version[] = {0, 1, 16};

// Returns the error object of an error: the one that was raised, or a new one, whose kind is that of its
// reason. NULL if memory is exhausted.
ObjectRef error_object(const Error& error);

}  // namespace gantry::ffi
