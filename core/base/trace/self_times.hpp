// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/trace/span.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace gantry {

// Calls of one name, or runs of one operator of a graph.
struct SelfTime {
  // of all of them, without the calls within them
  double ns = 0;
  std::uint64_t calls = 0;
  // there are such calls, whose recording is part of the time
  bool has_calls = false;
};

// Returns the times of calls by name. Kernels of a device have the times that the device measured.
// Operators of a graph ("op") stand for the calls and the kernels within them.
//
//     main     |-----------------------------------|     main   without add and mul
//     add        |--------|                              add
//     mul                   |------|                     mul
//
//     default  |-----------------------------------|     default  without dense_1
//     dense_1    |--------------| op                     dense_1  as the device measured the kernel
//     dense        |------| call   ..... kernel
//
// events   [in]   other categories than "call", "op" and "kernel" are ignored
std::map<std::string, SelfTime> self_times(std::span<const TraceEvent> events);

}  // namespace gantry
