// SPDX-License-Identifier: Apache-2.0
#include "core/base/forks.hpp"

#include <pthread.h>

#include <mutex>

namespace gantry {

constinit std::atomic<unsigned> detail::fork_count{0};

unsigned watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr,
                   [] { detail::fork_count.fetch_add(1, std::memory_order_relaxed); });
  });
  return fork_count();
}

}  // namespace gantry
