// SPDX-License-Identifier: Apache-2.0
//
// The newer container layout (G4x, G5): the tree first, every payload behind its length.
//
//   import tree                       n modules
//   n times   str type_key ; u64 length ; payload      key "_lib" has neither length nor payload
#pragma once

#include "core/format/modules.hpp"

#include <gantry/byte_reader.hpp>

namespace gantry {

// Reads tree and entries.
//
// in       at the tree, ends where the container ends; its offsets are those of the container
// returns  malformed: a tree that is not safe, a bad key, a payload that leaves the container
Result<Modules> read_layout2(ByteReader in);

}  // namespace gantry
