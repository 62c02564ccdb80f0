// SPDX-License-Identifier: Apache-2.0
//
// The older container layout (G0 to G4): nothing says how long a payload is.
//
//   u64 count
//   count times   str type_key ; payload       key "_lib" has no payload
//   G2 and later: the last entry is   str "_import_tree" ; import tree
#pragma once

#include "core/format/modules.hpp"
#include "core/format/payload_layout.hpp"

#include <gantry/byte_reader.hpp>

namespace gantry {

// Reads the entries and, where there is one, the tree.
//
// in       at `count`, ends where the container ends; its offsets are those of the container
// returns  malformed: a payload that breaks its layout, a bad key, a tree that is not last, not
//          safe, or not of as many modules as there are
//          A key that nobody knows is no refusal: see layout1.cpp, "A lost payload"
// costs    O(bytes walked), see PayloadLayouts::measure
Result<Modules> read_layout1(ByteReader in, const PayloadLayouts& layouts,
                             ExporterFacts::ArgumentTags tags);

}  // namespace gantry
