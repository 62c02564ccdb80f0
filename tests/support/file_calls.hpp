// SPDX-License-Identifier: Apache-2.0
//
// Defines fsync() and rename() for a test program, to record their order. One file of a program
// includes this header.
//
//     file_calls = {.records = true};
//     ...
//     EXPECT_THAT(std::exchange(file_calls, {}).list, ElementsAre("fsync a", "rename"));
#pragma once

#include <dlfcn.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

namespace gantry::test {

struct FileCalls {
  bool records = false;
  bool fsync_fails = false;
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
    if (calls.fsync_fails) return errno = EIO, -1;
  }
  return reinterpret_cast<decltype(&fsync)>(dlsym(RTLD_NEXT, "fsync"))(descriptor);
}
extern "C" int rename(const char* from, const char* to) noexcept {
  if (gantry::test::file_calls.records) gantry::test::file_calls.list.emplace_back("rename");
  return reinterpret_cast<decltype(&rename)>(dlsym(RTLD_NEXT, "rename"))(from, to);
}
