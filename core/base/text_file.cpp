// SPDX-License-Identifier: Apache-2.0
#include "core/base/text_file.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <system_error>

namespace gantry {
namespace {

Failure system_error(const std::string& path, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::unavailable;
  return fail(code, path, ": ", std::generic_category().message(number)).native("errno", number);
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t max) {
  // O_NONBLOCK: opening a FIFO would otherwise block until there is a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return system_error(path, errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return system_error(path, errno);
  if (!S_ISREG(about.st_mode)) {
    return malformed(no_offset, path, ": not a regular file").with_reason("NOT_A_FILE");
  }

  // One byte more than the file has, to detect its end. If the file grows meanwhile, at most max +
  // 1 bytes are read.
  const auto file_size = static_cast<std::uint64_t>(about.st_size);
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(file_size, max)) + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == text.size()) {
      if (size > max) break;
      text.resize(std::min(2 * size, max + 1));
    }
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > max) {
    return malformed(max, path, ": more than ", ByteCount(max)).with_reason("YAML_TOO_LARGE");
  }
  text.resize(size);
  return text;
}

}  // namespace gantry
