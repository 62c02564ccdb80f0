// SPDX-License-Identifier: Apache-2.0
//
// Mutates the structure of a container: keys, lengths, counts, tree words, order, payloads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::fuzz {

// Implements LLVMFuzzerCustomMutator for targets whose input is a bare container. Other bytes, and
// one input in eight, get plain mutations.
//
// data     [in/out]  `size` bytes, capacity `max`
// returns  the new size
std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed);

}  // namespace gantry::fuzz
