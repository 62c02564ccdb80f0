// SPDX-License-Identifier: Apache-2.0
//
// gantry/sink.hpp - where save_binary writes.
//
//     gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }
//
// Numbers and lists of dmlc-core are written through SinkStream (dmlc_stream.hpp).
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

  // returns  what the sink returns; nothing is written after an error
  Status write(std::span<const std::uint8_t> bytes) const {
    StatusBuffer status;
    const gantry_code code = raw_.write(raw_.self, bytes.data(), bytes.size(), status.get());
    if (code == GANTRY_OK) return {};
    return status.error(code, "sink");
  }

  // Bytes: large data begin at multiples of it in the file, if the format allows. 0: the bytes that
  // were read are written.
  std::uint32_t alignment() const { return raw_.alignment; }
  const gantry_sink& raw() const { return raw_; }

 private:
  const gantry_sink& raw_;
};

}  // namespace gantry
