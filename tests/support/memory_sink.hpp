// SPDX-License-Identifier: Apache-2.0
//
// A sink that keeps what is written: the output of a module's save_binary.
#pragma once

#include <gantry/module.h>

#include <cstdint>
#include <vector>

namespace gantry::test {

class MemorySink {
 public:
  // alignment  [in]   0: the bytes that were read
  // position   [in]   file offset of the first byte
  explicit MemorySink(std::uint32_t alignment = 0, std::uint64_t position = 0)
      : raw_{sizeof raw_, alignment, &bytes, position, write} {}
  MemorySink(const MemorySink&) = delete;
  MemorySink& operator=(const MemorySink&) = delete;

  const gantry_sink* raw() const { return &raw_; }

  std::vector<std::uint8_t> bytes;

 private:
  static gantry_code write(void* self, const void* data, std::uint64_t size, gantry_status*) {
    auto& to = *static_cast<std::vector<std::uint8_t>*>(self);
    const auto* const first = static_cast<const std::uint8_t*>(data);
    to.insert(to.end(), first, first + size);
    return GANTRY_OK;
  }

  gantry_sink raw_;
};

}  // namespace gantry::test
