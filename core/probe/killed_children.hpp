// SPDX-License-Identifier: Apache-2.0
//
// Child processes that were killed and have not ended: a process that waits in the kernel, for a
// driver, ends when the kernel returns from that call.
#pragma once

#include <gantry/descriptor.hpp>

#include <sys/types.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace gantry {

class KilledChildren {
 public:
  KilledChildren() = default;
  ~KilledChildren() { reap(); }
  KilledChildren(const KilledChildren&) = delete;
  KilledChildren& operator=(const KilledChildren&) = delete;

  // Adds a child of this process that it has not waited for. On a kernel without pidfd_open()
  // (before 5.4) nothing is added, and the child remains a zombie until this process ends.
  //
  // thread   any
  // costs    a descriptor until it is reaped
  void add(pid_t child);
  // Waits for those that have ended, without blocking, and removes them.
  //
  // returns  how many are left
  // thread   any
  std::size_t reap();

 private:
  std::mutex mutex_;
  // Descriptors, because the number of a process is used again if another part of this process has
  // waited for it.
  std::vector<Descriptor> children_;
};

}  // namespace gantry
