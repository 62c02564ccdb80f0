// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/redirected_stdout.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace gantry::cli {

Result<RedirectedStdout> RedirectedStdout::start() {
  std::fflush(stdout);
  // Not in the place of a closed standard error.
  Descriptor saved(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  // Closed: there is nothing to keep free.
  if (!saved && errno == EBADF) return RedirectedStdout(std::move(saved));
  if (saved && ::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return RedirectedStdout(std::move(saved));
  const Descriptor null(saved ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1);
  if (null && ::dup2(null.get(), STDOUT_FILENO) >= 0) return RedirectedStdout(std::move(saved));
  const int number = errno;
  return unavailable("standard output cannot be redirected: ",
                     std::generic_category().message(number))
      .native("errno", number);
}

RedirectedStdout::~RedirectedStdout() {
  if (!saved_) return;
  std::fflush(stdout);
  ::dup2(saved_.get(), STDOUT_FILENO);
}

}  // namespace gantry::cli
