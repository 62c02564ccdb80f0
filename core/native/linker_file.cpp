// SPDX-License-Identifier: Apache-2.0
#include "core/native/linker_file.hpp"

#include "core/base/mapping.hpp"

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

Result<LinkerFile> LinkerFile::of(const MappedFile& file) {
  LinkerFile original(fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0), false);
  if (!original.descriptor_) return system_error("its descriptor cannot be duplicated", errno);
  GANTRY_TRY(const bool is_new, original.avoid_known_paths(&file));
  if (is_new) return original;
  return copy(file.path().filename().native(), file.bytes());
}

Result<LinkerFile> LinkerFile::copy(std::string_view name, std::span<const std::uint8_t> bytes) {
  const std::string shown = std::string(name.substr(0, 200));
  LinkerFile copy(memfd_create(shown.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING), true);
  if (!copy.descriptor_) return system_error("a private copy cannot be made", errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(copy.descriptor_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("a private copy cannot be written", errno);
    done += static_cast<std::size_t>(count);
  }
  if (fcntl(copy.descriptor_.get(), F_ADD_SEALS,
            F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return system_error("a private copy cannot be sealed", errno);
  }
  GANTRY_CHECK(copy.avoid_known_paths(nullptr));
  return copy;
}

Result<bool> LinkerFile::avoid_known_paths(const MappedFile* file) {
  for (int above = 64; void* known = dlopen(path().c_str(), RTLD_LAZY | RTLD_NOLOAD); above *= 2) {
    const bool is_file = file != nullptr && mappings_of_library(known, *file).is_one_file();
    dlclose(known);
    if (is_file) return false;
    Descriptor moved(fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, above));
    if (!moved) return system_error("its descriptor cannot be duplicated", errno);
    descriptor_ = std::move(moved);
  }
  return true;
}

std::string LinkerFile::path() const { return concat("/proc/self/fd/", descriptor_.get()); }

}  // namespace gantry
