// SPDX-License-Identifier: Apache-2.0
//
// gantry/sink.hpp - the output of save_binary.
//
//     gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }
//
// SinkStream (dmlc_stream.hpp) writes numbers and lists in the format of dmlc-core.
#pragma once

#include <gantry/module.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>

namespace gantry {

class Sink {
 public:
  // raw      [in]   borrowed
  explicit Sink(const gantry_sink& raw) : raw_(raw) {}

  // returns  the sink's error. Do not write after an error
  Status write(std::span<const std::uint8_t> bytes) const {
    StatusBuffer status;
    const gantry_code code = raw_.write(raw_.self, bytes.data(), bytes.size(), status.get());
    if (code == GANTRY_OK) return {};
    return status.error(code, "sink");
  }

  // Alignment of array data in the file, in bytes, if the format allows it; that of large data is
  // data_alignment() of it (aligned_record.hpp). 0: write the same bytes that were read.
  std::uint32_t alignment() const { return raw_.alignment; }
  const gantry_sink& raw() const { return raw_; }

 private:
  const gantry_sink& raw_;
};

}  // namespace gantry
