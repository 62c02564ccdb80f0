// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/native/thread_pool.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <memory>

namespace gantry {

// GANTRY_POOL
struct PoolObject {
  gantry_object header;
  // fork_count() when it was created
  unsigned forks;
  std::shared_ptr<ThreadPool> pool;
};

// See gantry_embed::pool_new.
Result<Ref<PoolObject>> new_pool(const gantry_pool_options* given);

// Returns NULL for an object of another kind, and for NULL.
PoolObject* as_pool(gantry_object* object);

}  // namespace gantry
