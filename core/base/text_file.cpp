// SPDX-License-Identifier: Apache-2.0
#include "core/base/text_file.hpp"

#include "core/base/reason.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace gantry {
namespace {

Failure system_error(const std::string& path, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::unavailable;
  return fail(code, path, ": ", std::generic_category().message(number)).native("errno", number);
}

// Opens a regular file.
//
// about    [out]  of the open file
Result<Descriptor> open_regular(const std::string& path, struct stat& about) {
  // O_NONBLOCK: opening a FIFO would otherwise block until there is a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return system_error(path, errno);
  if (::fstat(file.get(), &about) != 0) return system_error(path, errno);
  if (!S_ISREG(about.st_mode)) {
    return malformed(no_offset, path, ": not a regular file").with_reason(reason::not_a_file.tag);
  }
  return file;
}

Result<std::string> read_text(int file, const struct stat& about, const std::string& path,
                              std::size_t max) {
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
    const ssize_t count = ::read(file, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > max) {
    return malformed(max, path, ": more than ", ByteCount(max))
        .with_reason(reason::yaml_too_large.tag);
  }
  text.resize(size);
  return text;
}

bool is_readable_by_mode(const struct stat& about) {
  constexpr mode_t all = S_IRUSR | S_IRGRP | S_IROTH;
  if (about.st_uid == ::geteuid()) return (about.st_mode & S_IRUSR) != 0;
  return (about.st_mode & all) == all;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t max) {
  struct stat about {};
  GANTRY_TRY(const Descriptor file, open_regular(path, about));
  return read_text(file.get(), about, path, max);
}

Result<StampedText> read_stamped_text(const std::string& path, std::chrono::nanoseconds tick,
                                      std::size_t max) {
  const std::int64_t begun = file_time_now();
  struct stat before {
  }, after{};
  GANTRY_TRY(const Descriptor file, open_regular(path, before));
  GANTRY_TRY(std::string text, read_text(file.get(), before, path, max));
  const FileStamp stamp = stamp_of(before);
  const bool is_unchanged = ::fstat(file.get(), &after) == 0 && stamp_of(after) == stamp;
  return StampedText{std::move(text), stamp,
                     is_unchanged && is_settled(stamp, begun, tick) && is_readable_by_mode(before)};
}

}  // namespace gantry
