// SPDX-License-Identifier: Apache-2.0
//
// The number of threads of OpenMP, which oneDNN uses, for the length of a scope.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace gantry::dnnl_plugin {

// One thread for each 256 KiB of tensors: threads of OpenMP wait for each other after each primitive,
// which takes longer than small primitives do.
//
// max      [in]   at least 1
inline int threads_for(std::uint64_t bytes, int max) {
  constexpr std::uint64_t bytes_per_thread = std::uint64_t{256} << 10;
  return static_cast<int>(std::min(1 + bytes / bytes_per_thread, static_cast<std::uint64_t>(max)));
}

// Sets the number of threads of parallel regions that this thread begins, and restores it.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(omp_get_max_threads()) {
    if (count != before_) omp_set_num_threads(count);
    is_changed_ = count != before_;
  }
  ~ThreadCount() {
    if (is_changed_) omp_set_num_threads(before_);
  }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
  bool is_changed_ = false;
};

}  // namespace gantry::dnnl_plugin
