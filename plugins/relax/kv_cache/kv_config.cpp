// SPDX-License-Identifier: Apache-2.0
#include "kv_config.hpp"

#include <gantry/join.hpp>

#include <functional>

namespace gantry::relax {
namespace {

constexpr std::int64_t int32_max = INT32_MAX;

}  // namespace

Failure number_out_of_range(std::string_view name, std::int64_t found, std::int64_t min,
                            std::int64_t max) {
  return invalid(name, " is ", found, ", range is ", min, "..", max).with_reason("ARGUMENT_RANGE");
}

Result<KvConfig> read_kv_config(std::span<const std::int64_t> shape) {
  if (shape.size() != 5 && shape.size() != 6) {
    return invalid("KV cache configuration [", join(shape, ", ", std::identity{}, 8), "] has ",
                   shape.size(), " numbers, 5 or 6 are expected")
        .with_reason("ARGUMENT_SHAPE");
  }
  constexpr const char* names[] = {"max_batch of a KV cache", "max_total_length of a KV cache",
                                   "prefill_chunk of a KV cache", "page_size of a KV cache"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (shape[i] < 1 || shape[i] > int32_max)
      return number_out_of_range(names[i], shape[i], 1, int32_max);
  }
  if (shape[4] < 0 || shape[4] > 1)
    return number_out_of_range("sliding_window of a KV cache", shape[4], 0, 1);

  KvConfig config;
  config.max_batch = static_cast<std::int32_t>(shape[0]);
  config.prefill_chunk = static_cast<std::int32_t>(shape[2]);
  config.page_size = static_cast<std::int32_t>(shape[3]);
  config.sliding_window = shape[4] == 1;
  // A sequence with a sliding window occupies up to two more pages than its window does.
  const std::int64_t pages = (shape[1] + shape[3] - 1) / shape[3] + 1 +
                             (config.sliding_window ? 2 * std::int64_t{config.max_batch} : 0);
  if (pages > int32_max / shape[3]) {
    return invalid("KV cache has ", pages, " pages of ", shape[3], " tokens, limit is ", int32_max,
                   " tokens in all")
        .with_reason("ARGUMENT_RANGE");
  }
  config.page_count = static_cast<std::int32_t>(pages);
  return config;
}

Result<KvLayerShape> kv_layer_shape(const KvConfig& config, const KvHeads& heads) {
  if (heads.count < 1 || heads.dimension < 1 || heads.element_bytes < 1) {
    return invalid("KV cache has ", heads.count, " heads of ", heads.dimension, " elements of ",
                   heads.element_bytes, " bytes, minimum is 1 each")
        .with_reason("ARGUMENT_RANGE");
  }
  KvLayerShape layer;
  layer.extents = {config.page_count, 2, heads.count, config.page_size, heads.dimension};
  layer.bytes = heads.element_bytes;
  for (const std::int64_t extent : layer.extents) {
    if (__builtin_mul_overflow(layer.bytes, extent, &layer.bytes) || layer.bytes > INT64_MAX) {
      return invalid("a layer of the KV cache, [", join(layer.extents, ", "), "] of ",
                     heads.element_bytes, " bytes, exceeds ", INT64_MAX, " bytes")
          .with_reason("ARGUMENT_RANGE");
    }
  }
  return layer;
}

}  // namespace gantry::relax
