// SPDX-License-Identifier: Apache-2.0
//
// Whether this process was forked since an object was created: in the child, threads of the parent
// do not exist and its locks may be held forever.
#pragma once

#include <atomic>

namespace gantry {

namespace detail {
extern constinit std::atomic<unsigned> fork_count;
}  // namespace detail

// Returns the number of forks between the process that called watch_forks() first and this one.
//
// thread   any
// costs    one load
inline unsigned fork_count() noexcept { return detail::fork_count.load(std::memory_order_relaxed); }

// Counts forks from now on. Returns fork_count().
//
// thread   any
unsigned watch_forks();

}  // namespace gantry
