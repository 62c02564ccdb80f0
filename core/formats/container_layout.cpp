// SPDX-License-Identifier: Apache-2.0
#include "core/formats/container_layout.hpp"

#include "core/formats/limits.hpp"

#include <gantry/byte_reader.hpp>

#include <algorithm>

namespace gantry {

ContainerLayout layout_of(std::span<const std::uint8_t> content) {
  ByteReader in(content);
  const auto first = in.read_u64("first word");
  if (!first.ok()) return ContainerLayout::none;
  // no entries; bytes that follow are ignored
  if (*first == 0) return ContainerLayout::one;
  const auto second = in.read_u64("second word");
  if (!second.ok()) return ContainerLayout::none;
  // Row pointer 0 is always 0, and a type key is never empty.
  if (*second == 0) return ContainerLayout::two;
  if (*second > limits::type_key_bytes || *second > in.left()) return ContainerLayout::none;
  const auto key = in.peek(*second);
  const bool printable =
      std::all_of(key.begin(), key.end(), [](std::uint8_t c) { return c >= 0x20 && c <= 0x7e; });
  return printable ? ContainerLayout::one : ContainerLayout::none;
}

}  // namespace gantry
