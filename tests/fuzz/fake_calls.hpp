// SPDX-License-Identifier: Apache-2.0
//
// Base of targets that call the functions of a plugin on a fake host: values of each kind that the
// bytes of an input choose, and the results of calls as arguments of later ones.
#pragma once

#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/touched.hpp"

#include <gantry/call.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/handle.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::fuzz {

class FakeCalls {
 protected:
  static constexpr gantry_dtype types[] = {
      dtypes::float32, dtypes::int32, dtypes::int64, {2, 16, 1}, {2, 64, 1}, {0, 8, 1},
      {1, 8, 1},       {6, 8, 1},     {4, 16, 1},    {0, 4, 1},  {1, 1, 1},  {2, 32, 4},
      {3, 64, 1},      {0, 0, 1},     {2, 32, 0},    {9, 128, 3}};

  explicit FakeCalls(std::span<const std::uint8_t> input) : choices_(input) {
    // The numbers of an input are no sizes of memory.
    fake_.max_tensor_bytes = 64 * 1024;
    add_kernel(fake_);
    kernel_ = host_.find(fake_.node(), GANTRY_FIND_IMPORTS, "kernel").value();
  }
  FakeCalls(const FakeCalls&) = delete;
  FakeCalls& operator=(const FakeCalls&) = delete;
  ~FakeCalls() = default;

  // Expects of a failure that the caller has caused it, and touches a result.
  void check(const Result<Value>& result) const {
    if (result.ok()) return touch(fake_, result->get());
    expect(!result.error().message.empty(), "a failure has a text");
    expect(result.error().code != Code::bug, "a failure is one of the caller");
  }

  // The arguments that a usage names, without optional and repeated ones.
  static std::size_t count_of(std::string_view usage) {
    const auto required = usage.substr(0, std::min(usage.find('['), usage.size()));
    if (required.ends_with('(') || usage.ends_with("()")) return 0;
    return static_cast<std::size_t>(std::ranges::count(required, ',')) + 1;
  }
  static bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  }

  gantry_value any() {
    switch (choices_.below(10)) {
      case 0:
        return {};
      case 1:
        return int_value(integer());
      case 2:
        return number();
      case 3:
        return text();
      case 4:
        return shape();
      case 5:
        return tensor(any_type());
      case 6:
        return array();
      case 7:
        return choices_.below(2) == 0 ? device_value(test::handles) : dtype_value(any_type());
      case 8:
        return object_value(kernel_.get());
      default:
        return kept_.empty() ? gantry_value{} : kept_[choices_.below(kept_.size())].get();
    }
  }

  std::int64_t integer() {
    const std::uint8_t choice = choices_.take<std::uint8_t>();
    if (choice < 128) return choice % 16 - 4;
    if (choice < 190) return std::int64_t{1} << (choice - 128);
    constexpr std::int64_t extremes[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, UINT32_MAX};
    return extremes[choice % std::size(extremes)];
  }
  gantry_value number() {
    constexpr double numbers[] = {0,      1,
                                  -1,     0.5,
                                  1e-7,   1e300,
                                  -0.0,   std::numeric_limits<double>::infinity(),
                                  1e-320, std::numeric_limits<double>::quiet_NaN()};
    return float_value(numbers[choices_.below(std::size(numbers))]);
  }
  gantry_value text() {
    constexpr std::string_view texts[] = {"both", "values", "indices", "tirx",    "global",
                                          "w",    "",       "x\xff",   "texture", "\x1b[0m"};
    return made(host_.text(texts[choices_.below(std::size(texts))]));
  }
  gantry_dtype any_type() { return types[choices_.below(std::size(types))]; }
  std::vector<std::int64_t> extents(bool is_small) {
    const std::uint8_t rank = choices_.take<std::uint8_t>();
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < rank % 6u; ++i)
      extents.push_back(is_small || rank < 192 ? static_cast<std::int64_t>(choices_.below(5))
                                               : integer());
    return extents;
  }
  gantry_value shape() { return made(host_.shape(extents(false))); }
  gantry_value tensor(gantry_dtype type) {
    const std::uint8_t form = choices_.take<std::uint8_t>();
    return tensor(type, extents(true), form % 8 == 7 ? test::handles : test::cpu, form % 8);
  }
  // pattern  [in]   bytes of the input that its elements repeat
  gantry_value tensor(gantry_dtype type, std::span<const std::int64_t> dims,
                      gantry_device_id device, std::size_t pattern) {
    auto value = host_.tensor_new(compact_tensor(type, dims, device));
    if (!value.ok()) return {};
    const auto bytes = tensor_bytes(dims, type);
    const auto content = choices_.take_bytes(pattern);
    if (bytes.ok()) {
      std::uint8_t* const memory = fake_.memory_of(*value->tensor());
      for (std::uint64_t i = 0; i < *bytes; ++i)
        memory[i] = content.empty() ? 0 : content[i % content.size()];
    }
    return made(std::move(value));
  }
  gantry_value array() {
    std::vector<Value> items;
    for (std::size_t i = choices_.below(4); i > 0; --i) {
      if (auto item = host_.keep(kept_.empty() ? gantry_value{}
                                               : kept_[choices_.below(kept_.size())].get());
          item.ok())
        items.push_back(std::move(*item));
    }
    return made(host_.array(items));
  }

  // An argument of the call; none if there is no such value.
  gantry_value made(Result<Value> value) {
    if (!value.ok()) return {};
    return temporary_.emplace_back(std::move(*value)).get();
  }
  static void keep(Value value, std::vector<Value>& to) {
    constexpr std::size_t max_kept = 64;
    if (value.object() == nullptr) return;
    if (to.size() == max_kept) to.erase(to.begin());
    to.push_back(std::move(value));
  }
  static gantry_value object_value(gantry_object* object) {
    gantry_value value{};
    value.kind = object->kind;
    value.object = object;
    return value;
  }

  Choices choices_;
  test::FakeHost fake_;
  const Host host_{fake_.table()};
  ObjectRef kernel_;
  // results of earlier calls, and arguments of the call
  std::vector<Value> kept_, temporary_;
};

}  // namespace gantry::fuzz
