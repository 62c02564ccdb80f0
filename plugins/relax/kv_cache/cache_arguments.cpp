// SPDX-License-Identifier: Apache-2.0
#include "cache_arguments.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

namespace gantry::relax {
namespace {

// Indices of arguments.
enum Argument : std::size_t {
  config_at,
  layers_at,
  query_heads_at,
  kv_heads_at,
  qk_dimension_at,
  v_dimension_at,
  kinds_at,
  transfer_at,
  rope_mode_at,
  rope_scale_at,
  rope_theta_at,
  rope_factors_at,
  like_at,
  transpose_append_at,
  transpose_append_mla_at,
  ragged_prefill_at,
  paged_prefill_at,
  paged_decode_at,
  sliding_prefill_at,
  sliding_decode_at,
  tree_paged_at,
  tree_ragged_at,
  mla_at,
  merge_at,
  split_rotary_at,
  copy_single_page_at,
  debug_get_kv_at,
  compact_copy_at,
  argument_count,
};

// Reads a number of at least 1.
Result<std::int64_t> count_argument(const Call& call, std::size_t i) {
  GANTRY_TRY(const std::int64_t count, call.integer(i));
  if (count >= 1) return count;
  return call.refuse(call.title(i), " is ", count, ", minimum is 1").with_reason("ARGUMENT_RANGE");
}

Result<ObjectRef> function_argument(const Call& call, std::size_t i) {
  GANTRY_TRY(gantry_object* const function, call.object(i, GANTRY_FUNCTION));
  return ObjectRef::share(function);
}

Status read_layers(const Call& call, CacheArguments& cache) {
  GANTRY_TRY(const auto layers, call.shape(layers_at));
  if (layers.size() != 2 || layers[0] < 0 || layers[0] >= layers[1]) {
    return call
        .refuse(call.title(layers_at), " is ", numbers_text(layers),
                ", expected the first layer and the one after the last")
        .with_reason("ARGUMENT_SHAPE");
  }
  cache.first_layer = layers[0];
  cache.layer_count = layers[1] - layers[0];

  constexpr std::string_view names[] = {"multi-head", "latent (MLA)", "linear",
                                        "multi-head with a window of its own"};
  GANTRY_TRY(const auto kinds, call.shape(kinds_at));
  if (std::cmp_less(kinds.size(), layers[1])) {
    return call
        .refuse(call.title(kinds_at), " has ", kinds.size(), " layers, minimum is ", layers[1])
        .with_reason("ARGUMENT_SHAPE");
  }
  for (std::int64_t layer = layers[0]; layer < layers[1]; ++layer) {
    const std::int64_t kind = kinds[static_cast<std::size_t>(layer)];
    if (kind == 0) continue;
    const bool is_known = kind > 0 && std::cmp_less(kind, std::size(names));
    return unsupported(call.usage.substr(0, call.usage.find('(')), ": attention of layer ", layer,
                       " is of kind ", kind, " (",
                       is_known ? names[static_cast<std::size_t>(kind)] : "unknown",
                       "), supported is 0 (", names[0], ")")
        .with_reason("KV_ATTENTION");
  }
  return {};
}

Status read_rope(const Host& host, const Call& call, CacheArguments& cache) {
  GANTRY_TRY(const std::int64_t mode, call.integer(rope_mode_at));
  if (mode < 0 || mode > 2) {
    return call.refuse(call.title(rope_mode_at), " is ", mode, ", range is 0..2")
        .with_reason("ARGUMENT_RANGE");
  }
  cache.rope_mode = static_cast<RopeMode>(mode);
  // A token's position changes when the window slides, so keys are stored without it.
  if (cache.config.sliding_window && cache.rope_mode == RopeMode::normal)
    cache.rope_mode = RopeMode::inline_;
  GANTRY_TRY(cache.rope_scale, call.real(rope_scale_at));
  GANTRY_TRY(cache.rope_theta, call.real(rope_theta_at));
  if (call.args[rope_factors_at].kind == GANTRY_TENSOR) {
    GANTRY_TRY(cache.rope_factors, host.keep(call.args[rope_factors_at]));
  }
  return {};
}

// Reads a kernel, ("tirx", function); absent if the argument is () or None.
Result<ObjectRef> kernel_argument(const Host& host, const Call& call, std::size_t i) {
  if (call.args[i].kind == GANTRY_NONE) return ObjectRef();
  GANTRY_TRY(gantry_object* const array, call.object(i, GANTRY_ARRAY));
  GANTRY_TRY(const auto items, host.items(array));
  if (items.empty()) return ObjectRef();
  const auto tag = value_text(items[0]);
  if (!tag || items.size() < 2 || items[1].kind != GANTRY_FUNCTION)
    return call.wrong(i, "an array of a tag and functions");
  if (*tag != "tirx" && *tag != "tir") {
    return unsupported(call.usage.substr(0, call.usage.find('(')), ": ", call.title(i),
                       " is a kernel of ", quoted(*tag), ", supported are \"tirx\" and \"tir\"")
        .with_reason("KV_ATTENTION");
  }
  return ObjectRef::share(items[1].object);
}

Result<ObjectRef> required_kernel(const Host& host, const Call& call, std::size_t i) {
  GANTRY_TRY(ObjectRef kernel, kernel_argument(host, call, i));
  if (!kernel) return call.refuse(call.title(i), " is absent, the cache requires it");
  return kernel;
}

Status read_merge(const Host& host, const Call& call, CacheKernels& kernels) {
  GANTRY_TRY(gantry_object* const array, call.object(merge_at, GANTRY_ARRAY));
  GANTRY_TRY(const auto items, host.items(array));
  if (items.empty()) return call.refuse(call.title(merge_at), " is empty, minimum is 1 function");
  for (std::size_t i = 0; i < items.size() && i < kernels.merge.size(); ++i) {
    if (items[i].kind != GANTRY_FUNCTION) return call.wrong(merge_at, "an array of functions");
    kernels.merge[i] = ObjectRef::share(items[i].object);
  }
  return {};
}

Status read_kernels(const Host& host, const Call& call, CacheArguments& cache) {
  CacheKernels& kernels = cache.kernels;
  const bool slides = cache.config.sliding_window;
  GANTRY_TRY(kernels.transpose_append, function_argument(call, transpose_append_at));
  GANTRY_TRY(kernels.ragged_prefill, required_kernel(host, call, ragged_prefill_at));
  GANTRY_TRY(kernels.paged_prefill,
             required_kernel(host, call, slides ? sliding_prefill_at : paged_prefill_at));
  GANTRY_TRY(kernels.paged_decode,
             required_kernel(host, call, slides ? sliding_decode_at : paged_decode_at));
  for (const std::size_t unused : {paged_prefill_at, paged_decode_at, sliding_prefill_at,
                                   sliding_decode_at, tree_paged_at, tree_ragged_at, mla_at})
    GANTRY_CHECK(kernel_argument(host, call, unused));
  GANTRY_CHECK(read_merge(host, call, kernels));
  GANTRY_TRY(kernels.split_rotary, function_argument(call, split_rotary_at));
  GANTRY_TRY(kernels.copy_single_page, function_argument(call, copy_single_page_at));
  GANTRY_TRY(kernels.debug_get_kv, function_argument(call, debug_get_kv_at));
  for (const std::size_t unused : {transpose_append_mla_at, compact_copy_at}) {
    if (call.args[unused].kind != GANTRY_NONE) GANTRY_CHECK(function_argument(call, unused));
  }
  return {};
}

}  // namespace

Result<CacheArguments> read_cache_arguments(const Host& host, const Call& call) {
  // The functions of caches before v0.20 begin where the scale of rotary embeddings is now.
  if (call.args.size() > rope_scale_at && call.args[rope_scale_at].kind == GANTRY_FUNCTION) {
    return unsupported(call.usage.substr(0, call.usage.find('(')),
                       ": the KV cache is one of TVM 0.16 to 0.19, which has other arguments; "
                       "export the model with TVM 0.20 or later")
        .with_reason("KV_ATTENTION");
  }
  GANTRY_CHECK(call.count_is(argument_count, argument_count + 1));
  CacheArguments cache;
  GANTRY_TRY(const auto config, call.shape(config_at));
  GANTRY_TRY(cache.config, read_kv_config(config));
  GANTRY_CHECK(read_layers(call, cache));
  GANTRY_TRY(cache.query_heads, count_argument(call, query_heads_at));
  GANTRY_TRY(cache.kv_heads, count_argument(call, kv_heads_at));
  GANTRY_TRY(cache.dimension, count_argument(call, qk_dimension_at));
  GANTRY_TRY(const std::int64_t v_dimension, count_argument(call, v_dimension_at));
  if (v_dimension != cache.dimension) {
    return call
        .refuse(call.title(v_dimension_at), " is ", v_dimension, ", ", call.title(qk_dimension_at),
                " is ", cache.dimension, ", the numbers must be equal in multi-head attention")
        .with_reason("ARGUMENT_RANGE");
  }
  GANTRY_TRY(const std::int64_t transfer, call.integer(transfer_at));
  if (transfer != 0) {
    return unsupported(call.usage.substr(0, call.usage.find('(')),
                       ": transfer of keys and values between processes is not supported")
        .with_reason("KV_TRANSFER");
  }
  GANTRY_CHECK(read_rope(host, call, cache));
  GANTRY_TRY(const gantry_tensor* like, call.tensor(like_at));
  cache.device = like->device;
  cache.dtype = like->dtype;
  GANTRY_CHECK(read_kernels(host, call, cache));
  return cache;
}

}  // namespace gantry::relax
