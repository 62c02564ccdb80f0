// SPDX-License-Identifier: Apache-2.0
//
// The output of a plugin's save_binary or build, over a stream of dmlc-core.
#pragma once

#include <gantry/module.h>
#include <gantry/abi_boundary.hpp>

#include <dmlc/io.h>

#include <cstdint>

namespace gantry {

class StreamSink {
 public:
  // out       [in]   borrowed; what its Write() throws is the error of the sink
  // position  [in]   offset of the next byte in the file
  explicit StreamSink(dmlc::Stream& out, std::uint64_t position = 0)
      : raw_{sizeof raw_, 0, &out, position, write} {}

  const gantry_sink* raw() const { return &raw_; }

 private:
  static gantry_code write(void* self, const void* data, std::uint64_t size,
                           gantry_status* status) {
    return abi_boundary(status, [&]() -> Status {
      static_cast<dmlc::Stream*>(self)->Write(data, size);
      return {};
    });
  }

  gantry_sink raw_;
};

}  // namespace gantry
