// SPDX-License-Identifier: Apache-2.0
//
// Counts the objects that a host creates for a plugin and that are alive.
//
//     text_new, tensor_new, ...  ──▶ the host's function ──▶ object, of which a weak reference is kept
#pragma once

#include <gantry/host.h>

#include <cstdint>
#include <map>
#include <string>

namespace gantry::kit {

// Replaces the functions of a table that create objects. There is one object of this class at a
// time.
class CountingHost {
 public:
  // table    [in,out] of the plugin that is counted, whose threads may use it. It outlives this
  //                   object, and keeps the functions, which then count nothing
  explicit CountingHost(gantry_host& table);
  ~CountingHost();
  CountingHost(const CountingHost&) = delete;
  CountingHost& operator=(const CountingHost&) = delete;

  // Objects that are alive, by the function that created them: "text_new".
  //
  // thread   any
  std::map<std::string, std::int64_t> alive() const;
};

}  // namespace gantry::kit
