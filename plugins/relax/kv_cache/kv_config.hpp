// SPDX-License-Identifier: Apache-2.0
//
// The sizes of a paged KV cache, as the exporter passes them to its creation function.
#pragma once

#include <gantry/result.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace gantry::relax {

struct KvConfig {
  // Sequences and new tokens of one forward pass. The cache itself may contain more sequences.
  std::int32_t max_batch = 0;
  std::int32_t prefill_chunk = 0;
  // Tokens of a page.
  std::int32_t page_size = 0;
  // Pages of each layer. Every number of a slot, page * page_size + index, fits in 32 bits.
  std::int32_t page_count = 0;
  // True: sequences may have a sliding window.
  bool sliding_window = false;
};

// Reads [max_batch, max_total_length, prefill_chunk, page_size, sliding_window, layer_window]. The
// last number, since v0.27, is the window of layers with an attention kind of their own.
//
// returns  INVALID  another count, or a number is out of range
Result<KvConfig> read_kv_config(std::span<const std::int64_t> shape);

// The shape of the pages of one layer of multi-head attention.
struct KvLayerShape {
  // [pages, 2 (keys and values), heads, tokens of a page, dimension of a head]
  std::array<std::int64_t, 5> extents{};
  std::uint64_t bytes = 0;
};

struct KvHeads {
  std::int64_t count = 0;
  std::int64_t dimension = 0;
  std::uint64_t element_bytes = 0;
};

// returns  INVALID  a number of `heads` is less than 1, or the size does not fit in 63 bits
Result<KvLayerShape> kv_layer_shape(const KvConfig& config, const KvHeads& heads);

// Describes an argument that is out of range: name is found, range is min..max.
Failure number_out_of_range(std::string_view name, std::int64_t found, std::int64_t min,
                            std::int64_t max);

// Returns the number of pages that `tokens` tokens occupy.
constexpr std::int32_t pages_of(std::int64_t tokens, std::int32_t page_size) {
  return static_cast<std::int32_t>((tokens + page_size - 1) / page_size);
}

}  // namespace gantry::relax
