// SPDX-License-Identifier: Apache-2.0
//
// The parts of a container, which can be modified and written with correct or incorrect lengths and
// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::fuzz {

struct FormEntry {
  std::string key;
  std::vector<std::uint8_t> payload;
  // written instead of payload.size(); layout two only
  std::optional<std::uint64_t> length;
};

struct ContainerForm {
  // layout two
  bool tree_first = false;
  // false is valid in layout one only
  bool has_tree = true;
  std::vector<FormEntry> entries;
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> children;
  // written instead of the length
  std::optional<std::uint64_t> header;
  // written instead of the entry count; layout one only
  std::optional<std::uint64_t> count;
  // trailing bytes, inside the container
  std::vector<std::uint8_t> behind;

  // Empty for bytes that the reader refuses.
  static std::optional<ContainerForm> read(std::span<const std::uint8_t> bytes);
  // The bytes with their length header. Numbers are computed from the content unless they are set.
  std::vector<std::uint8_t> bytes() const;
  // Sets the tree for the current entries: module 0 imports all others.
  void make_star();
};

}  // namespace gantry::fuzz
