// SPDX-License-Identifier: Apache-2.0
//
// Small containers of every generation.
#pragma once

#include "core/formats/container_symbols.hpp"
#include "core/formats/entry_cursor.hpp"
#include "core/formats/relay_code.hpp"
#include "tests/support/words.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::test {

inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(digit(text[i]) * 16 + digit(text[i + 1])));
  }
  return bytes;
}

// An instruction of Relay code: opcode and operands after their hash.
inline Words relay_instruction(const std::vector<std::int64_t>& words,
                               std::int64_t hash_change = 0) {
  Words made;
  made.u64(words.size() + 1).i64(relay_instruction_hash(words) + hash_change);
  for (const std::int64_t word : words) made.i64(word);
  return made;
}

// FORMAT.md, "First example": CPU code imports one CUDA kernel; G3.
inline std::vector<std::uint8_t> example_g3() {
  return from_hex(
      "e0000000000000000300000000000000"
      "04000000000000005f6c696204000000"
      "00000000637564610300000000000000"
      "70747801000000000000000b00000000"
      "0000006164645f6b65726e656c300000"
      "00000000000003000000000000000340"
      "01000340010000200100020000000000"
      "00000a00000000000000626c6f636b49"
      "64782e780b0000000000000074687265"
      "61644964782e7805000000000000002f"
      "2f7074780c000000000000005f696d70"
      "6f72745f747265650300000000000000"
      "00000000000000000100000000000000"
      "01000000000000000100000000000000"
      "0100000000000000");
}

// FORMAT.md, "Second example": the same modules; G5.
inline std::vector<std::uint8_t> example_g5() {
  return from_hex(
      "e9000000000000000300000000000000"
      "00000000000000000100000000000000"
      "01000000000000000100000000000000"
      "01000000000000000400000000000000"
      "5f6c6962040000000000000063756461"
      "99000000000000000300000000000000"
      "70747801000000000000000a00000000"
      "0000006164645f6b65726e656c0a0000"
      "00000000006164645f6b65726e656c03"
      "00000000000000034001000340010000"
      "20010002000000000000000a00000000"
      "000000626c6f636b4964782e780b0000"
      "00000000007468726561644964782e78"
      "03000000000000000000000000000000"
      "0000000005000000000000002f2f7074"
      "78");
}

inline CpuSymbol defined(std::string_view name) { return {name, 8, true}; }
inline CpuSymbol undefined(std::string_view name) { return {name, 0, false}; }

// The facts on which payloads depend, for files of v0.20, of v0.21, and of v0.22 and later.
inline ExporterFacts legacy() {
  ExporterFacts facts;
  facts.argument_tags = ArgumentTags::no;
  facts.numbering = Numbering::packed;
  facts.has_private_float_codes = true;
  return facts;
}
inline ExporterFacts first_ffi() {
  ExporterFacts facts;
  facts.numbering = Numbering::ffi_0_21;
  return facts;
}
inline ExporterFacts ffi() {
  ExporterFacts facts;
  facts.argument_tags = ArgumentTags::yes;
  facts.numbering = Numbering::ffi;
  return facts;
}

// Reads all entries, and recovers those of unknown length as far as possible.
inline Result<Modules> read_entries(ByteReader in, ContainerLayout layout,
                                    const PayloadLayouts& layouts, ArgumentTags tags) {
  return EntryCursor(in, layout, layouts, tags).finish();
}

// The content after its length header.
inline Words contained(const Words& content) {
  return Words().u64(content.size()).bytes(content.bytes());
}

// One kernel's signature: two handles and an int32, one block and one thread axis.
inline Words& signature(Words& to, bool extra_tags) {
  to.str("").u64(3);
  to.u8(3).u8(64).u16(1).u8(3).u8(64).u16(1).u8(0).u8(32).u16(1);
  to.strs({"blockIdx.x", "threadIdx.x"});
  if (extra_tags) to.u64(3).i32(0).i32(0).i32(0);
  return to;
}

inline Words kernels(std::vector<std::string_view> names, bool extra_tags = false) {
  Words words;
  words.u64(names.size());
  for (const std::string_view name : names) {
    words.str(name);
    signature(words, extra_tags);
  }
  return words;
}

// The usual layout of device code.
inline Words device_code(std::string_view format, std::string_view data, bool extra_tags = false) {
  return Words().str(format).bytes(kernels({"add_kernel0"}, extra_tags).bytes()).str(data);
}

// float32 of the given shape, all zero.
inline Words array(std::vector<std::int64_t> shape) {
  Words words;
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::uint64_t>(extent);
  words.u64(0xDD5E40F096B4A13F).u64(0).i32(1).i32(0).i32(static_cast<std::int32_t>(shape.size()));
  words.u8(2).u8(32).u16(1);
  for (const std::int64_t extent : shape) words.i64(extent);
  words.i64(static_cast<std::int64_t>(count * 4));
  for (std::uint64_t i = 0; i < count; ++i) words.u32(0);
  return words;
}

inline Words graph_executor() {
  return Words()
      .str("{}")
      .u64(2)
      .strs({"w", "b"})
      .bytes(array({2, 3}).bytes())
      .bytes(array({3}).bytes())
      .str("default");
}

inline Words tree(const std::vector<std::uint64_t>& rows,
                  const std::vector<std::uint64_t>& children) {
  return Words().str("_import_tree").u64s(rows).u64s(children);
}

// Layout one with a tree.
//
// entries  keys and payloads
inline Words layout_one(std::uint64_t modules, const Words& entries,
                        const std::vector<std::uint64_t>& rows,
                        const std::vector<std::uint64_t>& children) {
  return contained(
      Words().u64(modules + 1).bytes(entries.bytes()).bytes(tree(rows, children).bytes()));
}

// v0.2 to v0.6: no tree.
inline Words container_g1() {
  return contained(Words()
                       .u64(2)
                       .str("cuda")
                       .bytes(device_code("ptx", "//ptx").bytes())
                       .str("opencl")
                       .bytes(device_code("cl", "__kernel").bytes()));
}

// v0.7: a `_lib` for each host module, children in import order.
inline Words container_g2() {
  return layout_one(
      3, Words().str("_lib").str("cuda").bytes(device_code("ptx", "//ptx").bytes()).str("_lib"),
      {0, 2, 2, 2}, {1, 2});
}

}  // namespace gantry::test
