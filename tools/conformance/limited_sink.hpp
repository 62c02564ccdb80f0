// SPDX-License-Identifier: Apache-2.0
//
// A sink that keeps what it receives, up to a limit.
#pragma once

#include <gantry/module.h>
#include <gantry/status.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gantry::kit {

// Stays where it is while `raw` is in use.
struct LimitedSink {
  gantry_sink raw{};
  std::vector<std::uint8_t> bytes;
  const std::size_t max;

  // max_bytes  [in]   a write beyond them fails as EXHAUSTED
  explicit LimitedSink(std::size_t max_bytes) : max(max_bytes) {
    raw.struct_size = sizeof raw;
    raw.self = this;
    raw.write = [](void* self, const void* data, std::uint64_t size,
                   gantry_status* status) -> gantry_code {
      auto& to = *static_cast<LimitedSink*>(self);
      if (size > to.max - to.bytes.size())
        return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "conformance kit: the sink is full");
      const auto* from = static_cast<const std::uint8_t*>(data);
      to.bytes.insert(to.bytes.end(), from, from + size);
      return GANTRY_OK;
    };
  }
  LimitedSink(const LimitedSink&) = delete;
  LimitedSink& operator=(const LimitedSink&) = delete;
};

}  // namespace gantry::kit
