// SPDX-License-Identifier: Apache-2.0
#include "tensor_cache_functions.hpp"

#include "error_kind.hpp"

#include <gantry/module.hpp>
#include <gantry/quoted.hpp>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace gantry::relax {
namespace {

// Calls a function of a row and gives its failure a kind.
template <auto function>
Result<Value> with_kind_of_cache(TensorCache& cache, const Call& call) {
  return with_kind(cache.host(), function(cache, call));
}

Result<Value> load(TensorCache& cache, const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const std::string_view directory, call.text(0));
  GANTRY_TRY(const std::int32_t type, call.integer32(1));
  GANTRY_TRY(const std::int32_t index, call.integer32(2));
  GANTRY_CHECK(cache.load(directory, {type, index}, call.env));
  return Value();
}

Result<Value> get(TensorCache& cache, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  return cache.find(name);
}

Result<Value> update(TensorCache& cache, const Call& call) {
  GANTRY_CHECK(call.count_is(2, 3));
  GANTRY_TRY(const std::string_view name, call.text(0));
  GANTRY_CHECK(call.tensor(1));
  GANTRY_TRY(Value tensor, keep_or_copy(cache.host(), call.args[1], call.env));
  std::int64_t overrides = 0;
  if (call.args.size() == 3) {
    GANTRY_TRY(overrides, call.integer(2));
  }
  if (overrides != 0) {
    cache.replace(name, std::move(tensor));
  } else if (!cache.add(name, std::move(tensor))) {
    return call.refuse(quoted(name),
                       " is in the cache already; pass override = true to replace it");
  }
  return Value();
}

Result<Value> remove(TensorCache& cache, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  cache.remove(name);
  return Value();
}

Result<Value> clear(TensorCache& cache, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  cache.clear();
  return Value();
}

std::string absent(const TensorCache& cache, std::string_view name) {
  return concat(quoted(name), " is not in the cache, which contains ", cache.contents());
}

using Parameters = std::vector<Value>;

// <prefix>_0, <prefix>_1, ...: `count` of them, or until one is absent if count is -1.
Result<Parameters> numbered(TensorCache& cache, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::string_view prefix, call.text(0));
  GANTRY_TRY(const std::int64_t count, call.integer(1));
  if (count < -1) return call.refuse("count is ", count, ", minimum is -1");
  Parameters all;
  for (std::int64_t i = 0; i != count; ++i) {
    const std::string name = concat(prefix, "_", i);
    GANTRY_TRY(Value tensor, cache.find(name));
    if (tensor.tensor() == nullptr && count == -1) break;
    if (tensor.tensor() == nullptr) return call.refuse(absent(cache, name));
    all.push_back(std::move(tensor));
  }
  return all;
}

Result<Parameters> by_names(TensorCache& cache, std::span<const gantry_value> names) {
  Parameters all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = value_text(names[i]);
    if (!name) {
      return raise(cache.host(), "ValueError", "name ", i, " is ", kind_text(names[i].kind),
                   ", expected a string");
    }
    GANTRY_TRY(Value tensor, cache.find(*name));
    if (tensor.tensor() == nullptr) return raise(cache.host(), "ValueError", absent(cache, *name));
    all.push_back(std::move(tensor));
  }
  return all;
}

Result<Parameters> named(TensorCache& cache, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(gantry_object* const array, call.object(0, GANTRY_ARRAY));
  GANTRY_TRY(const auto names, cache.host().items(array));
  return by_names(cache, names);
}

Result<Parameters> unpacked(TensorCache& cache, const Call& call) {
  return by_names(cache, call.args);
}

template <auto parameters>
Result<Value> array_of(TensorCache& cache, const Call& call) {
  GANTRY_TRY(const Parameters all, parameters(cache, call));
  return cache.host().array(all);
}

// Parameters as a module.
class ParamModule {
 public:
  static constexpr const char* type_name = "param_module";

  explicit ParamModule(Value params) : params_(std::move(params)) {}

  static constexpr auto functions() {
    return std::array{method<&ParamModule::get_params, "get_params()">};
  }
  Result<Value> get_params(const Call& call) const {
    GANTRY_CHECK(call.count_is(0));
    return params_;
  }

 private:
  // an array
  const Value params_;
};

template <auto parameters>
Result<Value> module_of(TensorCache& cache, const Call& call) {
  GANTRY_TRY(Value params, array_of<parameters>(cache, call));
  return new_module(cache.host(), nullptr, std::make_unique<ParamModule>(std::move(params)));
}

// Releases up to v0.21 have the second name of the first five functions.
constexpr CacheFunction rows[] = {
    {"vm.builtin.tensor_cache.load", "load(directory, device_type, device_index)",
     with_kind_of_cache<load>},
    {"vm.builtin.tensor_cache.get", "get(name)", with_kind_of_cache<get>},
    {"vm.builtin.tensor_cache.update", "update(name, tensor[, override])",
     with_kind_of_cache<update>},
    {"vm.builtin.tensor_cache.remove", "remove(name)", with_kind_of_cache<remove>},
    {"vm.builtin.tensor_cache.clear", "clear()", with_kind_of_cache<clear>},
    {"vm.builtin.ndarray_cache.load", "load(directory, device_type, device_index)",
     with_kind_of_cache<load>},
    {"vm.builtin.ndarray_cache.get", "get(name)", with_kind_of_cache<get>},
    {"vm.builtin.ndarray_cache.update", "update(name, tensor[, override])",
     with_kind_of_cache<update>},
    {"vm.builtin.ndarray_cache.remove", "remove(name)", with_kind_of_cache<remove>},
    {"vm.builtin.ndarray_cache.clear", "clear()", with_kind_of_cache<clear>},
    {"vm.builtin.param_array_from_cache", "param_array_from_cache(prefix, count)",
     with_kind_of_cache<array_of<numbered>>},
    {"vm.builtin.param_array_from_cache_by_name", "param_array_from_cache_by_name(names)",
     with_kind_of_cache<array_of<named>>},
    {"vm.builtin.param_array_from_cache_by_name_unpacked",
     "param_array_from_cache_by_name_unpacked(name, ...)", with_kind_of_cache<array_of<unpacked>>},
    {"vm.builtin.param_module_from_cache", "param_module_from_cache(prefix, count)",
     with_kind_of_cache<module_of<numbered>>},
    {"vm.builtin.param_module_from_cache_by_name", "param_module_from_cache_by_name(names)",
     with_kind_of_cache<module_of<named>>},
};

}  // namespace

std::span<const CacheFunction> cache_functions() { return rows; }

}  // namespace gantry::relax
