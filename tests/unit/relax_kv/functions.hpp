// SPDX-License-Identifier: Apache-2.0
//
// Calls of the KV cache's functions by name in a fake host.
#pragma once

#include "plugins/relax/builtin.hpp"
#include "tests/support/fake_host.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry::relax::test {

using Shape = std::vector<std::int64_t>;

// A compact tensor in host memory.
template <class T>
struct Array {
  Array(Shape extents, std::vector<T> content)
      : shape(std::move(extents)), values(std::move(content)) {}
  Array(const Array& other) = delete;
  Array& operator=(const Array& other) = delete;

  gantry_value value() {
    tensor.data = values.data();
    tensor.device = gantry::test::cpu;
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = std::is_same_v<T, float> ? dtypes::float32 : dtypes::int32;
    tensor.shape = shape.data();
    return tensor_ref_value(&tensor);
  }

  gantry_tensor tensor{};
  Shape shape;
  std::vector<T> values;
};
using Floats = Array<float>;
using Ints = Array<std::int32_t>;

class Functions : public ::testing::Test {
 public:
  // name     [in]   without "vm.builtin."
  Result<Value> call(std::string_view name, const std::vector<gantry_value>& args) {
    for (const auto rows : {paged_cache_builtins(), legacy_cache_builtins(), sampling_builtins()}) {
      for (const Builtin& row : rows) {
        if (row.name == concat("vm.builtin.", name)) return row.call(host, memory, &env, args);
      }
    }
    return not_found("no function ", name);
  }
  // Returns "kind: text" of the failure, or "" if there is none.
  std::string failure(std::string_view name, const std::vector<gantry_value>& args) {
    fake.error_kinds.clear();
    const Result<Value> result = call(name, args);
    if (result.ok()) return "";
    return concat(fake.error_kinds.empty() ? "no kind" : fake.error_kinds.back(), ": ",
                  result.error().message.text());
  }
  std::vector<float> floats_of(const Value& tensor) const {
    const gantry_tensor& found = *tensor.tensor();
    std::size_t count = 1;
    for (const std::int64_t extent : shape_of(found)) count *= static_cast<std::size_t>(extent);
    const auto* data = reinterpret_cast<const float*>(fake.memory_of(found));
    return {data, data + count};
  }
  // Creates an object that arguments contain.
  gantry_value shape(const Shape& shape) { return kept(host.shape(shape)); }
  gantry_value array(const std::vector<gantry_value>& items) {
    std::vector<Value> values;
    for (const gantry_value& item : items) values.push_back(*host.keep(item));
    return kept(host.array(values));
  }
  gantry_value kept(Result<Value> value) {
    return objects_.emplace_back(std::move(value).value()).get();
  }

  gantry::test::FakeHost fake;
  const Host host{fake.table()};
  gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};
  std::shared_ptr<StorageMemory> memory = std::make_shared<StorageMemory>("gantry.relax");

 private:
  std::vector<Value> objects_;
};

}  // namespace gantry::relax::test
