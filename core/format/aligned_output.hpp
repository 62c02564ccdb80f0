// SPDX-License-Identifier: Apache-2.0
//
// Output of the writers of aligned payloads. Part of aligned_payload.cpp.
#pragma once

#include "core/format/aligned_payload.hpp"
#include "core/format/array_list.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// A stream with its position in the file. Without a stream behind it, it only counts: a writer runs
// twice to find its size.
class AlignedOutput final : public dmlc::Stream {
 public:
  // Counts only.
  AlignedOutput(std::uint64_t position, std::uint64_t alignment)
      : position_(position), alignment_(alignment) {}
  explicit AlignedOutput(const PayloadOutput& to)
      : to_(&to.stream), position_(to.position), alignment_(to.alignment) {}

  using dmlc::Stream::Write;
  void Write(const void* data, std::size_t size) override {
    if (to_ != nullptr && size != 0) to_->Write(data, size);
    position_ += size;
  }
  // write-only
  std::size_t Read(void*, std::size_t) override { return 0; }

  void write(std::span<const std::uint8_t> bytes) { Write(bytes.data(), bytes.size()); }
  void write_text(std::string_view text) {
    Write<std::uint64_t>(text.size());
    Write(text.data(), text.size());
  }
  // Writes a filler for the data of the next record.
  void fill(NextRecord next) { write_filler(*this, position_, next, alignment_); }

  std::uint64_t position() const { return position_; }
  std::uint64_t alignment() const { return alignment_; }

 private:
  dmlc::Stream* to_ = nullptr;
  std::uint64_t position_;
  std::uint64_t alignment_;
};

// Lists of named arrays: parameters of executors, and constants.
Status write_aligned_list(const ArrayListForm& form, std::span<const std::uint8_t> payload,
                          AlignedOutput& out);

Status write_aligned_relax(std::span<const std::uint8_t> payload,
                           ExporterFacts::Numbering numbering, AlignedOutput& out);
Status write_aligned_relay(std::span<const std::uint8_t> payload, AlignedOutput& out);

}  // namespace gantry
