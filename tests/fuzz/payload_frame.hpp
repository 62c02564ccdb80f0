// SPDX-License-Identifier: Apache-2.0
//
// Shared by the fuzz targets of payloads: the form of an input, and the claims about every device
// payload.
//
//     byte 0   0 to 5: the container's generation; 6: unknown
//     rest     the payload
#pragma once

#include "core/format/payload_layout.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/generation.hpp"
#include "tests/support/payload_blob.hpp"

#include <gantry/loader.h>
#include <gantry/module.h>
#include <gantry/kernel_table.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
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
  const auto tags = !kernels.empty() && kernels.front().argument_tags
                        ? ExporterFacts::ArgumentTags::yes
                        : ExporterFacts::ArgumentTags::no;
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

// Expects that the plugin keeps the bytes unchanged; save_binary writes them.
inline void expect_kept(const PayloadBytes& kept, std::span<const std::uint8_t> bytes) {
  expect(kept.bytes.data() == bytes.data() && kept.bytes.size() == bytes.size(),
         "a payload is kept as it was read");
}

// Returns the bytes that `write` writes into a sink.
//
// position  [in]   start position of the sink
// write     [in]   void(const gantry_sink&)
template <class Write>
std::vector<std::uint8_t> written_by(std::uint64_t position, const Write& write) {
  using Bytes = std::vector<std::uint8_t>;
  Bytes bytes;
  const gantry_sink sink{sizeof sink, 0, &bytes, position,
                         [](void* self, const void* data, std::uint64_t size, gantry_status*) {
                           const auto* first = static_cast<const std::uint8_t*>(data);
                           auto& to = *static_cast<Bytes*>(self);
                           to.insert(to.end(), first, first + size);
                           return gantry_code{GANTRY_OK};
                         }};
  write(sink);
  return bytes;
}

}  // namespace gantry::fuzz
