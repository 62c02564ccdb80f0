// SPDX-License-Identifier: Apache-2.0
//
// The number of threads of OpenMP, which oneDNN uses, for the length of a scope.
#pragma once

#include <omp.h>

namespace gantry::dnnl_plugin {

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
