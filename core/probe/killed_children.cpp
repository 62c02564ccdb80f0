// SPDX-License-Identifier: Apache-2.0
#include "core/probe/killed_children.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace gantry {
namespace {

// P_PIDFD and pidfd_open() are declared from glibc 2.36 on.
constexpr auto kByDescriptor = static_cast<idtype_t>(3);

// Also if another part of this process has waited for it.
bool has_ended(const Descriptor& child) {
  siginfo_t info{};
  const int failed =
      ::waitid(kByDescriptor, static_cast<id_t>(child.get()), &info, WEXITED | WNOHANG);
  return failed == 0 ? info.si_pid != 0 : errno == ECHILD;
}

}  // namespace

void KilledChildren::add(pid_t child) {
  Descriptor descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!descriptor) return;
  const std::lock_guard lock(mutex_);
  children_.push_back(std::move(descriptor));
}

std::size_t KilledChildren::reap() {
  const std::lock_guard lock(mutex_);
  std::erase_if(children_, has_ended);
  return children_.size();
}

}  // namespace gantry
