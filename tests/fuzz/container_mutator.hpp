// SPDX-License-Identifier: Apache-2.0
//
// Mutates a container as what it is: keys, lengths, counts, tree words, order, payloads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::fuzz {

// The body of LLVMFuzzerCustomMutator for targets whose input is a bare container. Bytes that are none, and one input
// in eight, get plain mutations.
//
// data     [in/out]  `size` bytes, room for `most`
// returns  the new size
std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed);

}  // namespace gantry::fuzz
