// SPDX-License-Identifier: Apache-2.0
//
// By what a later process recognizes that a file has not changed, without reading it.
#pragma once

#include <chrono>
#include <cstdint>

struct stat;

namespace gantry {

struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  // since 1970; the system sets the second one whenever the content, owner, mode or links change
  std::int64_t modified_ns = 0, changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const struct stat& file);

// Two changes of a file within one tick of its file system's clock leave the same times. FAT has the
// longest tick.
constexpr std::chrono::nanoseconds longest_file_tick = std::chrono::seconds(2);

// The system's time, as in FileStamp.
std::int64_t file_time_now();

// True if a file that is changed at `now` or later gets another stamp.
//
// tick     [in]   of the file system's clock at most
bool is_settled(const FileStamp& stamp, std::int64_t now, std::chrono::nanoseconds tick);

}  // namespace gantry
