// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/linker_file.hpp"

#include "core/base/mapping.hpp"
#include "core/base/system_limit.hpp"

#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace gantry {
namespace {

Failure duplicate_error(int number) {
  return fail(code_of_errno(number), "its descriptor cannot be duplicated: ", text_of_errno(number))
      .native("errno", number);
}

}  // namespace

Result<LinkerFile> LinkerFile::of(const MappedFile& file, const std::function<FileHole()>& unread) {
  const std::string name = file.path().filename().native();
  if (file.descriptor() < 0) return copy(name, file.bytes(), unread());
  LinkerFile original(Descriptor(fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0)), false);
  if (!original.descriptor_) return duplicate_error(errno);
  GANTRY_TRY(const bool is_new, original.avoid_known_paths(&file));
  if (is_new) return original;
  return copy(name, file.bytes(), unread());
}

Result<LinkerFile> LinkerFile::copy(std::string_view name, std::span<const std::uint8_t> bytes,
                                    FileHole unread) {
  GANTRY_TRY(Descriptor memory, sealed_memory(name, bytes, unread));
  LinkerFile copy(std::move(memory), true);
  GANTRY_CHECK(copy.avoid_known_paths(nullptr));
  return copy;
}

Result<bool> LinkerFile::avoid_known_paths(const MappedFile* file) {
  for (int above = 64; void* known = dlopen(path().c_str(), RTLD_LAZY | RTLD_NOLOAD); above *= 2) {
    const bool is_file = file != nullptr && difference_of(known, *file).empty();
    dlclose(known);
    if (is_file) return false;
    Descriptor moved(fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, above));
    if (!moved) return duplicate_error(errno);
    descriptor_ = std::move(moved);
  }
  return true;
}

std::string LinkerFile::path() const { return concat("/proc/self/fd/", descriptor_.get()); }

}  // namespace gantry
