// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_record.hpp"

#include <gantry/byte_reader.hpp>

#include <unistd.h>

#include <cstring>

namespace gantry {
namespace {

enum RecordKind : std::uint8_t { kStage = 1, kFault = 2, kRefused = 3, kPassed = 4, kOptions = 5 };

std::string record_of(RecordKind kind, const ByteText& content) {
  ByteText record;
  record.number(static_cast<std::uint32_t>(1 + content.bytes().size())).number(kind);
  return record.bytes() + content.bytes();
}

}  // namespace

std::string stage_record(ProbeStage stage) { return record_of(kStage, ByteText().number(stage)); }

std::string passed_record() { return record_of(kPassed, {}); }

std::string options_record(std::uint64_t digest) {
  return record_of(kOptions, ByteText().number(digest));
}

std::string refused_record(const Error& error) {
  constexpr std::size_t max_text = kMaxProbeRecord / 2;
  return record_of(kRefused, ByteText()
                                 .number(static_cast<std::uint32_t>(error.code))
                                 .text(error.reason.substr(0, 64))
                                 .text(error.message.text().substr(0, max_text)));
}

void write_fault_record(int descriptor, std::int32_t signal, const void* address) noexcept {
  const auto number = reinterpret_cast<std::uint64_t>(address);
  constexpr std::uint32_t size = 1 + sizeof signal + sizeof number;
  char bytes[sizeof size + size];
  std::memcpy(bytes, &size, sizeof size);
  bytes[4] = kFault;
  std::memcpy(bytes + 5, &signal, sizeof signal);
  std::memcpy(bytes + 9, &number, sizeof number);
  [[maybe_unused]] const ssize_t written = ::write(descriptor, bytes, sizeof bytes);
}

void ProbeRecords::add(std::string_view bytes) {
  total_ += bytes.size();
  malformed = malformed || total_ > kMaxProbeRecords;
  if (malformed) return;
  pending_ += bytes;
  std::uint32_t size = 0;
  while (pending_.size() >= sizeof size) {
    std::memcpy(&size, pending_.data(), sizeof size);
    malformed = size == 0 || size > kMaxProbeRecord;
    if (malformed) return;
    if (pending_.size() - sizeof size < size) return;
    malformed = !read(std::string_view(pending_).substr(sizeof size, size)).ok();
    if (malformed) return;
    pending_.erase(0, sizeof size + size);
  }
}

Status ProbeRecords::read(std::string_view record) {
  ByteReader in({reinterpret_cast<const std::uint8_t*>(record.data()), record.size()});
  GANTRY_TRY(const std::uint8_t kind, in.read_u8("kind"));
  if (kind == kStage) {
    GANTRY_TRY(const std::uint8_t number, in.read_u8("stage"));
    if (number >= kProbeStages) return gantry::malformed(1, "stage is ", number);
    stage = static_cast<ProbeStage>(number);
  } else if (kind == kFault) {
    GANTRY_TRY(fault_signal, in.read_i32("signal"));
    GANTRY_TRY(fault_address, in.read_u64("address"));
  } else if (kind == kRefused) {
    GANTRY_TRY(code, in.read_u32("code"));
    GANTRY_TRY(const std::string_view tag, in.read_string("reason"));
    GANTRY_TRY(const std::string_view words, in.read_string("text"));
    if (!is_failure_code(static_cast<gantry_code>(code)))
      return gantry::malformed(1, "code is ", code);
    reason = tag;
    text = words;
    refused = true;
  } else if (kind == kPassed) {
    passed = true;
  } else if (kind == kOptions) {
    GANTRY_TRY(const std::uint64_t digest, in.read_u64("options"));
    if (!options) options = digest;
  } else {
    return gantry::malformed(0, "kind is ", kind);
  }
  return {};
}

}  // namespace gantry
