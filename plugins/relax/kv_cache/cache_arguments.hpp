// SPDX-License-Identifier: Apache-2.0
//
// The arguments with which a compiled model creates its paged KV cache: sizes, and the kernels that
// the model contains.
#pragma once

#include "kv_config.hpp"
#include "plugins/relax/builtin.hpp"

#include <array>

namespace gantry::relax {

enum class RopeMode : std::uint8_t { none, normal, inline_ };

// Functions of the model.
struct CacheKernels {
  ObjectRef transpose_append;
  ObjectRef ragged_prefill;
  // Those with sliding window, if the cache has one.
  ObjectRef paged_prefill;
  ObjectRef paged_decode;
  // The second merges results of self and cross attention; may be absent.
  std::array<ObjectRef, 2> merge;
  ObjectRef split_rotary;
  ObjectRef copy_single_page;
  ObjectRef debug_get_kv;
};

struct CacheArguments {
  KvConfig config;
  // Layers [first_layer, first_layer + layer_count) of the model.
  std::int64_t first_layer = 0;
  std::int64_t layer_count = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t dimension = 0;
  RopeMode rope_mode = RopeMode::none;
  double rope_scale = 1;
  double rope_theta = 0;
  // A tensor, or none.
  Value rope_factors;
  gantry_device_id device{};
  gantry_dtype dtype{};
  CacheKernels kernels;
};

constexpr std::string_view cache_create_usage =
    "paged_attention_kv_cache_create(config, layers, query_heads, kv_heads, qk_dimension, "
    "v_dimension, attention_kinds, transfer, rope_mode, rope_scale, rope_theta, rope_factors, "
    "like, transpose_append, transpose_append_mla, ragged_prefill, paged_prefill, paged_decode, "
    "sliding_prefill, sliding_decode, tree_paged, tree_ragged, mla, merge, split_rotary, "
    "copy_single_page, debug_get_kv, compact_copy[, reserved])";

// Reads 28 or 29 arguments. The kernels of tree attention and MLA may be present, and are not used.
//
// returns  INVALID      an argument is of another kind or out of range, or a kernel that the cache
//                       requires is absent
//          UNSUPPORTED  attention kinds other than multi-head attention, kernels of FlashInfer,
//                       transfer of keys and values between processes; a cache of TVM before 0.20
Result<CacheArguments> read_cache_arguments(const Host& host, const Call& call);

}  // namespace gantry::relax
