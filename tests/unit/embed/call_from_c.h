// SPDX-License-Identifier: Apache-2.0
//
// Calls that are compiled as C.
#pragma once

#include <gantry/embed.h>

GANTRY_BEGIN

// Adds a function of C to a runtime, finds it and calls it.
gantry_code quotient_from_c(const gantry_embed* embed, gantry_object* runtime, int64_t dividend,
                            int64_t divisor, int64_t* quotient, gantry_status* status);

// gantry_call()
gantry_code call_from_c(const gantry_host* host, gantry_object* function, const gantry_value* args,
                        int32_t count, gantry_value* result, gantry_status* status);

GANTRY_END
