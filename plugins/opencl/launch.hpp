// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel: arguments set, work enqueued; nothing waits.
#pragma once

#include <gantry/function.h>

#include <cstdint>

namespace gantry::opencl {

// The call of gantry_function_table; self is a Kernel.
gantry_code call(void* self, const gantry_env* env, const gantry_value* args, std::int32_t count,
                 gantry_value* result, gantry_status* status);

}  // namespace gantry::opencl
