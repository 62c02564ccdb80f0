// SPDX-License-Identifier: Apache-2.0
//
// Defines fsync(), rename() and renameat2() for a test program, to record their order and to make
// them fail. One file of a program includes this header.
//
//     file_calls = {.records = true};
//     ...
//     EXPECT_THAT(std::exchange(file_calls, {}).list, ElementsAre("fsync a", "rename"));
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace gantry::test {

struct FileCalls {
  bool records = false;
  bool fsync_fails = false;
  bool fsync_fails_after_rename = false;
  bool rename_fails = false;
  // as a file system without RENAME_NOREPLACE
  bool has_no_replace_flag = false;
  // "fsync" with the name of the file, or "rename"
  std::vector<std::string> list;
};
inline FileCalls file_calls;

}  // namespace gantry::test

extern "C" int fsync(int descriptor) {
  gantry::test::FileCalls& calls = gantry::test::file_calls;
  if (calls.records) {
    const std::filesystem::path link = "/proc/self/fd/" + std::to_string(descriptor);
    calls.list.push_back("fsync " + std::filesystem::read_symlink(link).filename().native());
    const bool is_renamed =
        std::find(calls.list.begin(), calls.list.end(), "rename") != calls.list.end();
    if (calls.fsync_fails || (calls.fsync_fails_after_rename && is_renamed)) return errno = EIO, -1;
  }
  return reinterpret_cast<decltype(&fsync)>(dlsym(RTLD_NEXT, "fsync"))(descriptor);
}
extern "C" int rename(const char* from, const char* to) noexcept {
  gantry::test::FileCalls& calls = gantry::test::file_calls;
  if (calls.records) calls.list.emplace_back("rename");
  if (calls.rename_fails) return errno = EIO, -1;
  return reinterpret_cast<decltype(&rename)>(dlsym(RTLD_NEXT, "rename"))(from, to);
}
extern "C" int renameat2(int from_directory, const char* from, int to_directory, const char* to,
                         unsigned flags) noexcept {
  gantry::test::FileCalls& calls = gantry::test::file_calls;
  if (calls.has_no_replace_flag && flags != 0) return errno = EINVAL, -1;
  if (calls.records) calls.list.emplace_back("rename");
  return reinterpret_cast<decltype(&renameat2)>(dlsym(RTLD_NEXT, "renameat2"))(
      from_directory, from, to_directory, to, flags);
}
