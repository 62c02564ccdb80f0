// SPDX-License-Identifier: Apache-2.0
//
// Shared by the fuzz targets of payloads: the form of an input, and the claims about every device
// payload.
//
//     byte 0   0 to 5: the container's generation; 6: unknown
//     rest     the payload
#pragma once

#include "core/formats/payload_layout.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/generation.hpp"
#include "tests/support/memory_sink.hpp"
#include "tests/support/payload_blob.hpp"

#include <gantry/loader.h>
#include <gantry/module.h>
#include <gantry/kernel_table.hpp>
#include <gantry/sink.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::fuzz {

// A kernel of 33 bytes is a KernelInfo and its index entry, twice if it may have tags.
constexpr Cost device_payload_cost{.bytes_per_input_byte = 32};

inline gantry_blob device_blob(std::span<const std::uint8_t> input) {
  Choices choices(input);
  const std::size_t generation = choices.below(7);
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.data = choices.rest().data();
  blob.size = choices.rest().size();
  blob.argument_tags = gantry::test::argument_tags_of_generation(
      generation == 6 ? -1 : static_cast<std::int32_t>(generation));
  return blob;
}
inline std::span<const std::uint8_t> bytes_in(const gantry_blob& blob) {
  return {blob.data, blob.size};
}

inline void expect_lies_in(std::span<const std::uint8_t> whole, const void* part, std::size_t size,
                           std::string_view claim) {
  const auto* first = static_cast<const std::uint8_t*>(part);
  expect(size == 0 || (first >= whole.data() && first + size <= whole.data() + whole.size()),
         claim);
}

// Expects that the core finds the end that the plugin finds.
inline void expect_measured(std::string_view key, std::span<const std::uint8_t> payload,
                            const KernelTable& table) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto& kernels = table.kernels();
  const auto tags =
      !kernels.empty() && kernels.front().argument_tags ? ArgumentTags::yes : ArgumentTags::no;
  const auto measured = layouts.measure(key, ByteReader(payload), PayloadEnd::known, tags);
  expect(measured.ok() && measured->size == payload.size(),
         "the core finds the end that the plugin finds");
}

// returns  the consumed bytes; expects that they are inside the blob and end where the core finds
//          the end
inline std::span<const std::uint8_t> expect_end(std::string_view key, const gantry_blob& blob,
                                                std::uint64_t consumed, const KernelTable& table) {
  expect(consumed >= 1 && consumed <= blob.size, "a payload has bytes, and no more than there are");
  const std::span<const std::uint8_t> bytes = bytes_in(blob).first(consumed);
  expect_measured(key, bytes, table);
  return bytes;
}

// Returns the bytes that `write` writes into a sink.
//
// write     [in]   Status(const Sink&)
template <class Write>
std::vector<std::uint8_t> written_by(const Write& write, std::uint32_t alignment = 0,
                                     std::uint64_t position = 0) {
  test::MemorySink sink(alignment, position);
  expect(write(Sink(*sink.raw())).ok(), "a payload is written");
  return std::move(sink.bytes);
}

// Expects that `write` writes the bytes that were read.
template <class Write>
void expect_written(std::span<const std::uint8_t> bytes, const Write& write) {
  expect(std::ranges::equal(written_by(write), bytes), "a payload is written as it was read");
}

}  // namespace gantry::fuzz
