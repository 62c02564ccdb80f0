// SPDX-License-Identifier: Apache-2.0
#include "core/base/new_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace gantry {

Result<Descriptor> create_file(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file) return file;
  return unavailable(path.native(), ": ", std::strerror(errno), " while creating it")
      .native("errno", errno);
}

Status write_new_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(const Descriptor file, create_file(path));
  const int failed = write_all(file.get(), bytes);
  if (failed == 0) return {};
  return unavailable(path.native(), ": ", std::strerror(failed), " while writing")
      .native("errno", failed);
}

}  // namespace gantry
