// SPDX-License-Identifier: Apache-2.0
//
// A container taken apart into what it is made of, and put together again: right, or with words that lie.
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
  // layout one may come without
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

  // Nothing for bytes that the reader refuses.
  static std::optional<ContainerForm> read(std::span<const std::uint8_t> bytes);
  // The bytes with their length header. Every number follows from the content where no other is set.
  std::vector<std::uint8_t> bytes() const;
  // Rows for as many entries as there are: module 0 imports all the others.
  void make_star();
};

}  // namespace gantry::fuzz
