// SPDX-License-Identifier: Apache-2.0
//
// The records that gantry-probe writes to descriptor 3, in native byte order:
//
//     u32 size of the rest   u8 kind   content
//       kind 1, stage    u8 ProbeStage               written before the stage begins
//       kind 2, fault    i32 signal  u64 address     written by a signal handler
//       kind 3, refused  u32 code  string reason  string text
//       kind 4, passed
//       kind 5, options  u64 digest_of() the plugin's options, written before the stage `open`
//
// A string is a u64 length and its bytes. A plugin has the descriptor, too, so any bytes may be
// read.
#pragma once

#include "core/base/byte_text.hpp"
#include "core/plugins/probe/probe_end.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

constexpr int kProbeDescriptor = 3;
constexpr std::size_t kMaxProbeRecord = 64 << 10;
// All records of a run.
constexpr std::size_t kMaxProbeRecords = 128 << 10;

// Each returns one record.
std::string stage_record(ProbeStage stage);
std::string refused_record(const Error& error);
std::string passed_record();
std::string options_record(std::uint64_t digest);
// Writes the record without allocating. Async-signal-safe.
//
// address  [in]   NULL: unknown
void write_fault_record(int descriptor, std::int32_t signal, const void* address) noexcept;

// Reads records as they arrive.
class ProbeRecords {
 public:
  // Adds bytes. After a malformed record all later bytes are ignored.
  void add(std::string_view bytes);

  ProbeStage stage = ProbeStage::start;
  // the last one
  std::int32_t fault_signal = 0;
  std::optional<std::uint64_t> fault_address;
  // the first one, because the plugin can write records as well
  std::optional<std::uint64_t> options;
  bool passed = false;
  bool refused = false;
  std::uint32_t code = 0;
  std::string reason, text;
  bool malformed = false;

 private:
  Status read(std::string_view record);

  std::string pending_;
  std::size_t total_ = 0;
};

}  // namespace gantry
