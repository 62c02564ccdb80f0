// SPDX-License-Identifier: Apache-2.0
#include "core/base/file_stamp.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace gantry {
namespace {

std::int64_t nanoseconds_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileStamp stamp_of(const struct stat& file) {
  return {file.st_dev, file.st_ino, static_cast<std::uint64_t>(file.st_size),
          nanoseconds_of(file.st_mtim), nanoseconds_of(file.st_ctim)};
}

std::int64_t file_time_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds_of(now);
}

bool is_settled(const FileStamp& stamp, std::int64_t now, std::chrono::nanoseconds tick) {
  return std::max(stamp.modified_ns, stamp.changed_ns) < now - tick.count();
}

}  // namespace gantry
