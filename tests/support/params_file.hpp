// SPDX-License-Identifier: Apache-2.0
//
// Writes the .params files that tests read.
#pragma once

#include "core/formats/arrays/params.hpp"

#include <gantry/aligned_record.hpp>

#include <dmlc/io.h>
#include <dmlc/memory_io.h>

#include <cstdint>
#include <span>
#include <string>

namespace gantry::test {

// Returns the bytes of a file with these parameters, each with the size of its data.
inline std::string params_bytes(std::span<const Param> params) {
  std::string bytes;
  dmlc::MemoryStringStream stream(&bytes);
  dmlc::Stream& out = stream;
  out.Write<std::uint64_t>(params_magic);
  out.Write<std::uint64_t>(0);
  out.Write<std::uint64_t>(params.size());
  for (const Param& param : params) out.Write(std::string(param.name));
  out.Write<std::uint64_t>(params.size());
  for (const Param& param : params) {
    const ArrayRecord& array = param.array;
    write_record_header(out, array.dtype, array.shape, array.data.size());
    if (!array.data.empty()) out.Write(array.data.data(), array.data.size());
  }
  return bytes;
}

}  // namespace gantry::test
