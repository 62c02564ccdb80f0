// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/pool.hpp"

#include "core/base/forks.hpp"
#include "core/engine/embed/arguments.hpp"
#include "core/engine/runtime/config.hpp"
#include "core/engine/runtime/environment.hpp"

#include <chrono>
#include <new>

namespace gantry {

Result<Ref<PoolObject>> new_pool(const gantry_pool_options* given) {
  GANTRY_TRY(const gantry_pool_options options,
             read_options(given, GANTRY_POOL_NO_SPIN, "gantry_pool_options"));
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return invalid("pool_new: threads is ", options.threads, ", expected 0 to ", kMaxThreads)
        .with_reason("ARGUMENT_RANGE");
  }
  int threads = options.threads;
  if (threads == 0) {
    // A runtime reports a value that is ignored.
    const auto stated = stated_threads(read_environment());
    threads = stated.ok() ? *stated : 0;
  }
  const bool spins = (options.flags & GANTRY_POOL_NO_SPIN) == 0;
  const std::chrono::microseconds window(spins ? Config{}.spin_us : 0);
  auto* const object =
      new PoolObject{{}, watch_forks(), std::make_shared<ThreadPool>(threads, window)};
  object->header = fresh_header(GANTRY_POOL, delete_object<PoolObject>);
  return Ref<PoolObject>::adopt(object);
}

PoolObject* as_pool(gantry_object* object) {
  void (*const deleter)(void*, std::int32_t) = delete_object<PoolObject>;
  return object != nullptr && object->deleter == deleter ? reinterpret_cast<PoolObject*>(object)
                                                         : nullptr;
}

}  // namespace gantry
