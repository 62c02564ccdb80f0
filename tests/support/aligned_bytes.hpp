// SPDX-License-Identifier: Apache-2.0
//
// Aligned payloads in memory.
#pragma once

#include "core/formats/aligned_payload.hpp"

#include <gantry/dmlc_stream.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::test {

// Collects bytes. Counts those that lie in `source`.
class CollectedBytes : public OutputStream {
 public:
  explicit CollectedBytes(std::span<const std::uint8_t> source = {}) : source_(source) {}

  std::vector<std::uint8_t> bytes;
  std::uint64_t from_source = 0;

 protected:
  void put(std::span<const std::uint8_t> part) override {
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (part.data() >= source_.data() && part.data() < source_.data() + source_.size()) {
      from_source += part.size();
    }
  }

 private:
  std::span<const std::uint8_t> source_;
};

// Returns the aligned payload; `position` is its offset in the file.
inline Result<std::vector<std::uint8_t>> aligned(std::string_view key,
                                                 std::span<const std::uint8_t> payload,
                                                 Numbering numbering, std::uint64_t position = 0,
                                                 std::uint64_t alignment = record_data_alignment) {
  CollectedBytes out;
  ExporterFacts facts;
  facts.numbering = numbering;
  GANTRY_CHECK(write_aligned_payload(key, payload, facts, {out, position, alignment}));
  return std::move(out.bytes);
}

// Expects that nothing is written, and returns the error.
inline Error refused_alignment(std::string_view key, std::span<const std::uint8_t> payload,
                               Numbering numbering,
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
