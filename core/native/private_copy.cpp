// SPDX-License-Identifier: Apache-2.0
#include "core/native/private_copy.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace gantry {
namespace {

Failure system_error(std::string_view what, int number) {
  const bool full = number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOSPC;
  return fail(full ? Code::exhausted : Code::unavailable, what, ": ",
              std::generic_category().message(number))
      .native("errno", number);
}

}  // namespace

Result<PrivateCopy> PrivateCopy::make(std::string_view name, std::span<const std::uint8_t> bytes) {
  const std::string shown = std::string(name.substr(0, 200));
  PrivateCopy copy(memfd_create(shown.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy) return system_error("a private copy cannot be made", errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(copy.descriptor_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("a private copy cannot be written", errno);
    done += static_cast<std::size_t>(count);
  }
  if (fcntl(copy.descriptor_, F_ADD_SEALS,
            F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return system_error("a private copy cannot be sealed", errno);
  }
  GANTRY_CHECK(copy.avoid_known_paths());
  return copy;
}

Status PrivateCopy::avoid_known_paths() {
  for (int above = 64; void* known = dlopen(path().c_str(), RTLD_LAZY | RTLD_NOLOAD); above *= 2) {
    dlclose(known);
    const int moved = fcntl(descriptor_, F_DUPFD_CLOEXEC, above);
    if (moved < 0)
      return system_error("the descriptor of a private copy cannot be duplicated", errno);
    ::close(std::exchange(descriptor_, moved));
  }
  return {};
}

PrivateCopy::~PrivateCopy() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PrivateCopy::PrivateCopy(PrivateCopy&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

PrivateCopy& PrivateCopy::operator=(PrivateCopy&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::string PrivateCopy::path() const { return concat("/proc/self/fd/", descriptor_); }

}  // namespace gantry
