// SPDX-License-Identifier: Apache-2.0
//
// Writes to Pieces. Bytes that lie in a mapped file become a range of this file, so that a payload
// of any size is carried from one file to another without a copy in memory.
#pragma once

#include "core/writing/pieces.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace gantry {

class CarryingStream : public OutputStream {
 public:
  // Shorter texts and numbers are copied: a range costs about as much memory.
  static constexpr std::size_t min_range_bytes = 256;

  // file     [in]   may be NULL: all bytes are copied
  // out      [in]   borrowed
  CarryingStream(std::shared_ptr<const MappedFile> file, Pieces& out)
      : file_(std::move(file)), out_(&out) {}

 protected:
  // bytes    [in]   those of the file must be those of its mapping
  void put(std::span<const std::uint8_t> bytes) override;

 private:
  std::shared_ptr<const MappedFile> file_;
  Pieces* out_;
};

}  // namespace gantry
