// SPDX-License-Identifier: Apache-2.0
//
// A host table without extensions that forwards to another one, with the size and the failures
// that a case requires.
//
//     page ...  | real host, settings | gantry_host | junk |  unmapped page
//
// The plugin receives the address of the table. Its functions find the real host before it.
#pragma once

#include "tools/conformance/guarded_bytes.hpp"

#include <gantry/host.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace gantry::kit {

struct ForwardingSettings {
  // in [1.0, the SDK's]
  std::uint32_t abi_minor = GANTRY_ABI_MINOR;
  // bytes of unknown members after the table, counted in struct_size; a multiple of 8
  std::size_t junk_bytes = 0;
  // bytes between these and the unmapped page, not counted; a multiple of 8
  std::size_t slack_bytes = 0;
};

class ForwardingHost {
 public:
  // real     [in]   outlives this object
  ForwardingHost(const gantry_host* real, const ForwardingSettings& settings);

  const gantry_host* table() const { return table_; }
  // Calls of functions that create something fail with EXHAUSTED after n more of them.
  void fail_after(std::int64_t n) { fail_after_ = creating_calls_ + n; }
  void fail_never() { fail_after_ = INT64_MAX; }
  // Number of calls of such functions so far.
  std::int64_t creating_calls() const { return creating_calls_; }
  // Options that the plugin has requested.
  std::set<std::string> requested_options() const;
  // Texts that the plugin has logged.
  std::vector<std::string> logged_texts() const;

 private:
  // the table's functions, in the .cpp
  struct Entries;

  bool must_fail() { return ++creating_calls_ > fail_after_; }

  const gantry_host* real_;
  std::atomic<std::int64_t> fail_after_{INT64_MAX};
  std::atomic<std::int64_t> creating_calls_{0};
  mutable std::mutex mutex_;
  std::set<std::string> options_;
  std::vector<std::string> logged_;
  GuardedBytes memory_;
  const gantry_host* table_;
};

}  // namespace gantry::kit
