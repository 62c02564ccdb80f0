// SPDX-License-Identifier: Apache-2.0
#include "legacy_cache.hpp"

#include "plugins/relax/error_kind.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/fill.hpp>
#include <gantry/opaque.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <memory>

namespace gantry::relax {
namespace {

std::int64_t row_count(const gantry_tensor& tensor) { return tensor.shape[0]; }

}  // namespace

Result<LegacyCache> LegacyCache::create(const Host& host, const gantry_env* env,
                                        const gantry_tensor& rows,
                                        std::span<const std::int64_t> reserve, std::int64_t fill) {
  if (reserve.empty() || reserve[0] < 1) {
    return invalid("shape of a KV cache is ", numbers_text(reserve),
                   ", expected at least 1 dimension, and at least 1 row")
        .with_reason("ARGUMENT_SHAPE");
  }
  std::vector<std::int64_t> shape(reserve.begin(), reserve.end());
  gantry_tensor like = rows;
  like.ndim = static_cast<std::int32_t>(shape.size());
  like.shape = shape.data();
  LegacyCache cache(host);
  GANTRY_TRY(cache.data_, host.tensor_new(like));
  GANTRY_CHECK(cache.append(env, rows));
  if (fill >= 0) {
    if (const std::int64_t held = row_count(*cache.data_.tensor()); fill > held) {
      return invalid("KV cache has ", fill, " filled rows, limit is ", held)
          .with_reason("ARGUMENT_RANGE");
    }
    GANTRY_CHECK(cache.clear_rows(env, row_count(rows), fill));
    cache.filled_ = cache.window_at_ = fill;
  }
  return cache;
}

Status LegacyCache::check_rows(const gantry_tensor& rows) const {
  const gantry_tensor& data = *data_.tensor();
  const std::span<const std::int64_t> found = shape_of(rows);
  const std::span<const std::int64_t> expected = shape_of(data);
  if (same_dtype(rows.dtype, data.dtype) && found.size() == expected.size() && is_compact(rows) &&
      std::ranges::equal(found.subspan(1), expected.subspan(1)))
    return {};
  return invalid("rows for a KV cache are ", tensor_text(rows), ", its own are ", tensor_text(data),
                 ": dtype and all dimensions but the first must be equal")
      .with_reason("ARGUMENT_SHAPE");
}

// Copies rows of one tensor to another.
Status LegacyCache::copy(const gantry_env* env, const gantry_tensor& from, std::int64_t first,
                         const gantry_tensor& to, std::int64_t at, std::int64_t count) const {
  if (count == 0) return {};
  std::vector<std::int64_t> shape(from.shape, from.shape + from.ndim);
  shape[0] = 1;
  GANTRY_TRY(const std::uint64_t row_bytes, tensor_bytes(shape, from.dtype));
  shape[0] = count;
  gantry_tensor source = from;
  gantry_tensor target = to;
  source.shape = target.shape = shape.data();
  source.strides = target.strides = nullptr;
  source.byte_offset += static_cast<std::uint64_t>(first) * row_bytes;
  target.byte_offset += static_cast<std::uint64_t>(at) * row_bytes;
  return host_.tensor_copy(source, target, env);
}

// Fills the rows from `first` to before `end` with zeros: rows that count as filled and that nothing
// has written.
Status LegacyCache::clear_rows(const gantry_env* env, std::int64_t first, std::int64_t end) const {
  if (first >= end) return {};
  const gantry_tensor& data = *data_.tensor();
  std::vector<std::int64_t> shape(data.shape, data.shape + data.ndim);
  shape[0] = 1;
  GANTRY_TRY(const std::uint64_t row_bytes, tensor_bytes(shape, data.dtype));
  shape[0] = end - first;
  gantry_tensor rows = data;
  rows.shape = shape.data();
  rows.byte_offset += static_cast<std::uint64_t>(first) * row_bytes;
  return fill_zeros(host_, rows, env);
}

// Makes room for `count` rows.
Status LegacyCache::reserve(const gantry_env* env, std::int64_t count) {
  const gantry_tensor& data = *data_.tensor();
  std::int64_t held = row_count(data);
  if (count <= held) return {};
  while (held < count) held = held > INT64_MAX / 2 ? count : 2 * held;
  std::vector<std::int64_t> shape(data.shape, data.shape + data.ndim);
  shape[0] = held;
  gantry_tensor like = data;
  like.shape = shape.data();
  GANTRY_TRY(Value grown, host_.tensor_new(like));
  GANTRY_CHECK(copy(env, data, 0, *grown.tensor(), 0, row_count(data)));
  data_ = std::move(grown);
  return {};
}

Status LegacyCache::append(const gantry_env* env, const gantry_tensor& rows) {
  GANTRY_CHECK(check_rows(rows));
  const std::int64_t count = row_count(rows);
  GANTRY_CHECK(reserve(env, filled_ + count));
  GANTRY_CHECK(copy(env, rows, 0, *data_.tensor(), filled_, count));
  filled_ += count;
  return {};
}

Status LegacyCache::update(const gantry_env* env, const gantry_tensor& rows) {
  GANTRY_CHECK(check_rows(rows));
  if (row_count(rows) != filled_) {
    return invalid("KV cache has ", filled_, " filled rows, an update has ", row_count(rows),
                   ", the numbers must be equal")
        .with_reason("ARGUMENT_SHAPE");
  }
  return copy(env, rows, 0, *data_.tensor(), 0, filled_);
}

Status LegacyCache::override_window(const gantry_env* env, const gantry_tensor& rows,
                                    std::int64_t max_rows, std::int64_t sinks) {
  GANTRY_CHECK(check_rows(rows));
  const std::int64_t count = row_count(rows);
  if (sinks < 0 || sinks > max_rows || count > max_rows - sinks) {
    return invalid("window of a KV cache has ", max_rows, " rows, which do not hold ", sinks,
                   " sinks and ", count, " new rows")
        .with_reason("ARGUMENT_RANGE");
  }
  if (window_at_ > max_rows) {
    return invalid("window of a KV cache has ", max_rows, " rows, its next row is ", window_at_)
        .with_reason("ARGUMENT_RANGE");
  }
  const std::int64_t behind = std::min(count, max_rows - window_at_);
  const std::int64_t filled = std::min(filled_ + count, max_rows);
  if (behind < count && filled < max_rows) {
    return invalid("window of a KV cache has ", filled, " filled rows of ", max_rows,
                   ", it must be full before rows are replaced")
        .with_reason("ARGUMENT_RANGE");
  }
  GANTRY_CHECK(reserve(env, std::max(filled, window_at_ + behind)));
  const gantry_tensor& data = *data_.tensor();
  GANTRY_CHECK(copy(env, rows, 0, data, window_at_, behind));
  GANTRY_CHECK(copy(env, rows, behind, data, sinks, count - behind));
  GANTRY_CHECK(clear_rows(env, std::max(filled_, window_at_ + behind), filled));
  filled_ = filled;
  window_at_ = behind < count ? sinks + count - behind : window_at_ + count;
  return {};
}

Result<Value> LegacyCache::view(std::span<const std::int64_t> expected) const {
  const gantry_tensor& data = *data_.tensor();
  std::vector<std::int64_t> shape(data.shape, data.shape + data.ndim);
  shape[0] = filled_;
  if (!expected.empty() && !std::ranges::equal(expected, shape)) {
    return invalid("view of a KV cache has the shape ", numbers_text(shape), ", requested is ",
                   numbers_text(expected))
        .with_reason("ARGUMENT_SHAPE");
  }
  gantry_tensor what = data;
  what.shape = shape.data();
  what.strides = nullptr;
  return host_.tensor_view(what, data_.object());
}

Status LegacyCache::pop(std::int64_t count) {
  if (count < 0 || count > filled_) {
    return invalid("rows to remove from a KV cache are ", count, ", range is 0..", filled_)
        .with_reason("ARGUMENT_RANGE");
  }
  filled_ -= count;
  return {};
}

namespace {

Result<LegacyCache*> cache_argument(const Host& host, const Call& call) {
  GANTRY_TRY(gantry_object* const object, call.object(0, GANTRY_OBJECT));
  return opaque_of<LegacyCache>(host, object);
}

// The functions return the cache that they change.
Result<Value> same_cache(const Host& host, const Call& call) { return host.keep(call.args[0]); }

Result<const gantry_tensor*> rows_argument(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* rows, call.tensor(i));
  if (rows->ndim < 1)
    return call.refuse(call.title(i), " has no dimensions").with_reason("ARGUMENT_SHAPE");
  return rows;
}

Result<Value> create_legacy(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const gantry_tensor* rows, rows_argument(call, 0));
  GANTRY_TRY(const auto reserve, call.shape(1));
  GANTRY_TRY(const std::int64_t fill, call.integer(2));
  GANTRY_TRY(LegacyCache made, LegacyCache::create(host, call.env, *rows, reserve, fill));
  return new_opaque(host, std::make_unique<LegacyCache>(std::move(made)));
}

template <Status (LegacyCache::*change)(const gantry_env*, const gantry_tensor&)>
Result<Value> change_rows(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(LegacyCache* const cache, cache_argument(host, call));
  GANTRY_TRY(const gantry_tensor* rows, rows_argument(call, 1));
  GANTRY_CHECK((cache->*change)(call.env, *rows));
  return same_cache(host, call);
}

Result<Value> window_override(const Host& host, const Call& call) {
  const bool has_sinks = call.usage.ends_with("num_attention_sinks)");
  GANTRY_CHECK(call.count_is(has_sinks ? 4 : 3));
  GANTRY_TRY(LegacyCache* const cache, cache_argument(host, call));
  GANTRY_TRY(const gantry_tensor* rows, rows_argument(call, 1));
  GANTRY_TRY(const std::int64_t max_rows, call.integer(2));
  std::int64_t sinks = 0;
  if (has_sinks) {
    GANTRY_TRY(sinks, call.integer(3));
  }
  GANTRY_CHECK(cache->override_window(call.env, *rows, max_rows, sinks));
  return same_cache(host, call);
}

Result<Value> view_legacy(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  GANTRY_TRY(LegacyCache* const cache, cache_argument(host, call));
  std::span<const std::int64_t> shape;
  if (call.args.size() == 2) {
    GANTRY_TRY(shape, call.shape(1));
  }
  return cache->view(shape);
}

// Calls a function for each cache of an array, the first argument.
template <class Function>
Status for_each_cache(const Host& host, const Call& call, Function&& function) {
  GANTRY_TRY(gantry_object* const array, call.object(0, GANTRY_ARRAY));
  GANTRY_TRY(const auto items, host.items(array));
  for (const gantry_value& item : items) {
    if (item.kind != GANTRY_OBJECT) return call.wrong(0, "an array of KV caches");
    GANTRY_TRY(LegacyCache* const cache, opaque_of<LegacyCache>(host, item.object));
    GANTRY_CHECK(function(*cache));
  }
  return {};
}

Result<Value> array_pop(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::int64_t count, call.integer(1));
  GANTRY_CHECK(for_each_cache(host, call, [&](LegacyCache& cache) { return cache.pop(count); }));
  return Value();
}

Result<Value> array_clear(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_CHECK(for_each_cache(host, call, [](LegacyCache& cache) {
    cache.clear();
    return Status();
  }));
  return Value();
}

constexpr Builtin legacy_rows[] = {
    {"vm.builtin.attention_kv_cache_create",
     "attention_kv_cache_create(init_data, reserve_shape, init_fill_count)",
     with_kind<create_legacy>},
    {"vm.builtin.attention_kv_cache_append", "attention_kv_cache_append(cache, value)",
     with_kind<change_rows<&LegacyCache::append>>},
    {"vm.builtin.attention_kv_cache_update", "attention_kv_cache_update(cache, value)",
     with_kind<change_rows<&LegacyCache::update>>},
    {"vm.builtin.attention_kv_cache_window_override",
     "attention_kv_cache_window_override(cache, value, max_cache_size)",
     with_kind<window_override>},
    {"vm.builtin.attention_kv_cache_window_override_with_sinks",
     "attention_kv_cache_window_override_with_sinks(cache, value, max_cache_size, "
     "num_attention_sinks)",
     with_kind<window_override>},
    {"vm.builtin.attention_kv_cache_view", "attention_kv_cache_view(cache[, shape])",
     with_kind<view_legacy>},
    {"vm.builtin.attention_kv_cache_array_popn", "attention_kv_cache_array_popn(caches, n)",
     with_kind<array_pop>},
    {"vm.builtin.attention_kv_cache_array_clear", "attention_kv_cache_array_clear(caches)",
     with_kind<array_clear>},
};

}  // namespace

std::span<const Builtin> legacy_cache_builtins() { return legacy_rows; }

}  // namespace gantry::relax
