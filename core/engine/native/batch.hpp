// SPDX-License-Identifier: Apache-2.0
//
// Batches of calls, prepared once: gantry/batch.h.
//
//     calls       f0   f1   f2   g0   h0   h1        f, h: packed CPU code; g: any other function
//     stretches  |  one entry   | g0 | one entry |
//
// A stretch is a maximal sequence of CPU code of one module on one device, whose arguments need no
// conversion at run time. Its calls differ from single calls only in that the thread enters the
// CPU code once. All other calls are single ones.
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/batch.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>

namespace gantry {

// returns  invalid, unsupported: see gantry_batch.prepare
Result<ObjectPtr> new_batch(std::span<const gantry_batch_call> calls);

using IsCancelled = bool (*)(const gantry_env& env);

// See gantry_batch.run.
//
// is_cancelled  [in]   called between calls if env has a task
gantry_code run_batch(const gantry_object* batch, const gantry_env& env, IsCancelled is_cancelled,
                      std::uint64_t* failed, gantry_status* status);

}  // namespace gantry
