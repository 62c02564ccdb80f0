// SPDX-License-Identifier: Apache-2.0
//
// Output of the writers of aligned payloads. Part of aligned_payload.cpp.
#pragma once

#include "core/formats/aligned_payload.hpp"
#include "core/formats/array_list.hpp"

#include <gantry/dmlc_stream.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace gantry {

// A stream with its position in the file. Without a stream behind it, it only counts: a writer runs
// twice to find its size.
class AlignedOutput final : public OutputStream {
 public:
  // Counts only.
  AlignedOutput(std::uint64_t position, std::uint64_t alignment)
      : position_(position), alignment_(alignment) {}
  explicit AlignedOutput(const PayloadOutput& to)
      : to_(&to.stream), position_(to.position), alignment_(to.alignment) {}

  // Writes a filler for the data of the next record.
  void fill(NextRecord next) { write_filler(*this, position_, next, alignment_); }

  std::uint64_t position() const { return position_; }
  std::uint64_t alignment() const { return alignment_; }

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    if (to_ != nullptr && !bytes.empty()) to_->Write(bytes.data(), bytes.size());
    position_ += bytes.size();
  }

 private:
  dmlc::Stream* to_ = nullptr;
  std::uint64_t position_;
  std::uint64_t alignment_;
};

// Lists of named arrays: parameters of executors, and constants.
Status write_aligned_list(const ArrayListForm& form, std::span<const std::uint8_t> payload,
                          AlignedOutput& out);

Status write_aligned_relax(std::span<const std::uint8_t> payload, Numbering numbering,
                           AlignedOutput& out);
Status write_aligned_relay(std::span<const std::uint8_t> payload, AlignedOutput& out);

}  // namespace gantry
