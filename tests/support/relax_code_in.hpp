// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/relax_code.hpp"

#include "tests/support/payload_blob.hpp"

#include <gantry/blob.hpp>

#include <cstdint>

namespace gantry::test {

// Reads a payload as a loader does.
//
// consumed [out]  the bytes that were read; may be NULL
inline Result<RelaxCode> relax_code_in(const gantry_blob& blob, std::uint64_t* consumed = nullptr) {
  const auto read = [](Blob& from) { return read_relax_payload(from.reader(), from.numbering()); };
  return read_whole(blob, read, consumed);
}

}  // namespace gantry::test
