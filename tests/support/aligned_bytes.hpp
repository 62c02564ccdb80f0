// SPDX-License-Identifier: Apache-2.0
//
// Aligned payloads in memory.
#pragma once

#include "core/format/aligned_payload.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::test {

// Collects bytes. Counts those that lie in `source`.
class CollectedBytes : public dmlc::Stream {
 public:
  explicit CollectedBytes(std::span<const std::uint8_t> source = {}) : source_(source) {}
  void Write(const void* data, std::size_t size) override {
    const auto* first = static_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), first, first + size);
    if (first >= source_.data() && first < source_.data() + source_.size()) from_source += size;
  }
  std::size_t Read(void*, std::size_t) override { return 0; }

  std::vector<std::uint8_t> bytes;
  std::uint64_t from_source = 0;

 private:
  std::span<const std::uint8_t> source_;
};

// Returns the aligned payload; `position` is its offset in the file.
inline Result<std::vector<std::uint8_t>> aligned(std::string_view key,
                                                 std::span<const std::uint8_t> payload,
                                                 ExporterFacts::Numbering numbering,
                                                 std::uint64_t position = 0,
                                                 std::uint64_t alignment = record_data_alignment) {
  CollectedBytes out;
  ExporterFacts facts;
  facts.numbering = numbering;
  GANTRY_CHECK(write_aligned_payload(key, payload, facts, {out, position, alignment}));
  return std::move(out.bytes);
}

// Expects that nothing is written, and returns the error.
inline Error refused_alignment(std::string_view key, std::span<const std::uint8_t> payload,
                               ExporterFacts::Numbering numbering,
                               std::uint64_t alignment = record_data_alignment) {
  CollectedBytes out;
  ExporterFacts facts;
  facts.numbering = numbering;
  const Status written = write_aligned_payload(key, payload, facts, {out, 0, alignment});
  if (written.ok()) return bug("the payload is written");
  if (!out.bytes.empty()) return bug("a part of the payload is written");
  return written.error();
}

}  // namespace gantry::test
