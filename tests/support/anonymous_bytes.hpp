// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace gantry::test {

// Returns the anonymous memory of this process, exactly; negative if the system does not report it.
// Allocates nothing.
//
// source   proc(5), /proc/self/smaps_rollup
inline long long anonymous_bytes() {
  char text[4096];
  const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  text[size > 0 ? size : 0] = 0;
  const char* line = std::strstr(text, "\nAnonymous:");
  long long kib = -1;
  if (line != nullptr) std::sscanf(line, "\nAnonymous: %lld", &kib);
  return kib * 1024;
}

}  // namespace gantry::test
