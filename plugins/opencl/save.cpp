// SPDX-License-Identifier: Apache-2.0
//
// The way back: a payload to the bytes that it was read from.
#include "payload.hpp"

#include <gantry/dmlc_stream.hpp>

namespace gantry::opencl {

void write_payload(const Payload& payload, const gantry_sink& sink) {
  SinkStream out(&sink);
  if (payload.format) out.Write(std::string(*payload.format));
  write_kernel_table(out, payload.table);
  if (payload.format) {
    out.Write<std::uint64_t>(payload.data.size());
    if (!payload.data.empty()) out.Write(payload.data.data(), payload.data.size());
    return;
  }
  out.Write<std::uint64_t>(payload.shaders.size());
  for (const Shader& shader : payload.shaders) {
    out.Write(std::string(shader.name));
    out.Write(shader.flag);
    out.Write<std::uint64_t>(shader.words.size() / 4);
    out.Write(shader.words.data(), shader.words.size());
  }
}

}  // namespace gantry::opencl
