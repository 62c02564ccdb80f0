// SPDX-License-Identifier: Apache-2.0
//
// The description of a model that is compiled ahead of time (core/formats/aot_metadata.hpp), in
// memory that stands for that of a library.
//
//     0x1000 metadata | inputs x, scale | output y | workspace w | constant c | shapes, texts, record
#pragma once

#include "tests/support/words.hpp"

#include <gantry/array_record.hpp>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace gantry::test {

struct AotImage {
  static constexpr std::uint64_t base = 0x1000;
  static constexpr std::uint64_t inputs = base + 80, outputs = inputs + 64,
                                 workspaces = outputs + 32, constants = workspaces + 32,
                                 rest = constants + 32;

  // x float32[1, 64], scale float32[], y int8[10], w uint8[256]; c float32[2] at offset 128
  AotImage() {
    bytes.resize(rest - base);
    set(0, 1);
    set_list(8, inputs, 2);
    set_list(24, outputs, 1);
    set_list(40, workspaces, 1);
    set_list(56, constants, 1);
    set(72, add_text("tvmgen_default"));
    set_tensor(inputs - base, "x", {1, 64}, 2, 32);
    set_tensor(inputs - base + 32, "scale", {}, 2, 32);
    set_tensor(outputs - base, "y", {10}, 0, 8);
    set_tensor(workspaces - base, "w", {256}, 1, 8);
    Words record;
    record.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(2).u8(32).u16(1).i64(2).u64(8);
    const float values[] = {5, 6};
    record.raw(values, sizeof values);
    const std::uint64_t at = constants - base;
    set(at, add_text("c"));
    set(at + 8, 128);
    set(at + 16, record.size());
    set(at + 24, add(record.bytes()));
  }

  // Overwrites the word at an offset from the base.
  void set(std::uint64_t offset, std::uint64_t word) {
    std::memcpy(bytes.data() + offset, &word, sizeof word);
  }
  std::uint64_t word(std::uint64_t offset) const {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
  }
  // Each appends and returns the address.
  std::uint64_t add(std::span<const std::uint8_t> all) {
    while (bytes.size() % 8 != 0) bytes.push_back(0);
    bytes.insert(bytes.end(), all.begin(), all.end());
    return base + bytes.size() - all.size();
  }
  std::uint64_t add_text(std::string_view text) {
    Words words;
    return add(words.text(text).u8(0).bytes());
  }

  std::vector<std::uint8_t> bytes;

 private:
  void set_list(std::uint64_t offset, std::uint64_t address, std::uint64_t count) {
    set(offset, address);
    set(offset + 8, count);
  }
  void set_tensor(std::uint64_t offset, std::string_view name, std::vector<std::int64_t> shape,
                  std::uint64_t code, std::uint64_t bits) {
    Words dims;
    for (const std::int64_t extent : shape) dims.i64(extent);
    set(offset, add_text(name));
    // The pointer of an empty shape is ignored.
    set(offset + 8, shape.empty() ? 7 : add(dims.bytes()));
    set(offset + 16, shape.size());
    set(offset + 24, code | bits << 8 | std::uint64_t{1} << 16);
  }
};

}  // namespace gantry::test
