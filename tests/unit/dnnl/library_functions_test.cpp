// SPDX-License-Identifier: Apache-2.0
//
// tvm.contrib.dnnl.* by oneDNN.
#include "plugins/dnnl/failure_of.hpp"
#include "plugins/dnnl/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/globals_of.hpp"
#include "tests/support/number_tensor.hpp"
#include "tests/support/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace gantry::dnnl_plugin::test {
namespace {

using gantry::test::Floats;
using gantry::test::floats;
using gantry::test::integers;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LibraryFunctions : public ::testing::Test {
 protected:
  Result<Value> call(std::string_view name, std::vector<gantry_value> args) {
    if (plugin == nullptr) plugin = std::make_unique<Plugin>(Host(fake.table()));
    const auto found = plugin->named_functions().find(concat("tvm.contrib.dnnl.", name));
    if (found == plugin->named_functions().end()) return not_found("no function ", name);
    return found->second.call({{}, &env, args});
  }
  void done(std::string_view name, std::vector<gantry_value> args) {
    const auto result = call(name, std::move(args));
    EXPECT_TRUE(result.ok()) << result.error().message;
  }
  std::string message(std::string_view name, std::vector<gantry_value> args) {
    const auto result = call(name, std::move(args));
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : std::string(result.error().message.text());
  }
  static std::vector<gantry_value> convolution(Floats& x, Floats& w, Floats& y,
                                               std::vector<std::int64_t> numbers) {
    std::vector<gantry_value> args = {x.value(), w.value(), y.value()};
    for (const std::int64_t number : numbers) args.push_back(int_value(number));
    args.insert(args.end(), {bool_value(false), bool_value(false)});
    return args;
  }

  gantry::test::FakeHost fake;
  gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};
  std::unique_ptr<Plugin> plugin;
  const gantry_value no = bool_value(false), yes = bool_value(true);
  Floats a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {7, 8, 9, 10, 11, 12});
  Floats c = floats({2, 2}, {1, 1, 1, 1});
};

TEST_F(LibraryFunctions, AreThoseOfTheManifestBeforeGantryContrib) {
  std::vector<std::string> names;
  plugin = std::make_unique<Plugin>(Host(fake.table()));
  for (const auto& [name, function] : plugin->named_functions()) names.emplace_back(name);
  const auto priority = [](std::string_view manifest) {
    const std::string text = gantry::test::read_page(manifest);
    return std::stoi(text.substr(text.find("\npriority: ") + 11));
  };

  EXPECT_THAT(gantry::test::globals_of("plugins/dnnl/dnnl.yaml.in"),
              ::testing::UnorderedElementsAreArray(names));
  EXPECT_GT(priority("plugins/dnnl/dnnl.yaml.in"), priority("plugins/contrib/contrib.yaml.in"));
  EXPECT_LT(priority("plugins/dnnl/dnnl.yaml.in"), 0);
}

TEST_F(LibraryFunctions, MultiplyAndRecordOneDnnInTheTrace) {
  fake.tracing = true;
  c.data = {NAN, NAN, NAN, NAN};

  done("matmul", {a.value(), b.value(), c.value(), no, no});

  EXPECT_THAT(c.data, ElementsAre(58, 64, 139, 154));
  EXPECT_THAT(fake.spans, ElementsAre(concat("library:matmul with ", library_text())));
}

TEST_F(LibraryFunctions, MultiplyTransposedOperandsWithFactors) {
  done("matmul", {b.value(), a.value(), c.value(), yes, yes, float_value(0.5), int_value(2)});

  EXPECT_THAT(c.data, ElementsAre(31, 71.5, 34, 79));
}

TEST_F(LibraryFunctions, MultiplyViewsWithGapsAndOverlaps) {
  std::int64_t shape[] = {3, 2}, transposed[] = {1, 3}, overlapping[] = {1, 1}, gaps[] = {4, 1};
  gantry_tensor view = compact_tensor(dtypes::float32, shape, gantry::test::cpu, a.data.data());
  view.strides = transposed;
  std::vector<float> wide(8, -1);
  c.tensor.data = wide.data();
  c.tensor.strides = gaps;
  // [[7, 8], [8, 9], [9, 10]]
  gantry_tensor rows = b.tensor;
  rows.strides = overlapping;

  done("matmul", {tensor_ref_value(&view), b.value(), c.value(), yes, no});
  EXPECT_THAT(wide, ElementsAre(58, 64, -1, -1, 139, 154, -1, -1));

  done("matmul", {a.value(), tensor_ref_value(&rows), c.value(), no, no});
  EXPECT_THAT(wide, ElementsAre(50, 56, -1, -1, 122, 137, -1, -1));
}

TEST_F(LibraryFunctions, MultiplyWithoutInnerElements) {
  Floats x = floats({2, 0}, {}), y = floats({0, 2}, {});

  done("matmul", {x.value(), y.value(), c.value(), no, no, int_value(1), int_value(3)});
  EXPECT_THAT(c.data, ElementsAre(3, 3, 3, 3));

  done("matmul", {x.value(), y.value(), c.value(), no, no});
  EXPECT_THAT(c.data, ElementsAre(0, 0, 0, 0));
}

TEST_F(LibraryFunctions, ConvolveWithTheirPaddingAndStrides) {
  Floats x = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Floats w = floats({1, 1, 2, 2}, {1, 10, 100, 1000}),
         y = floats({1, 1, 2, 2}, std::vector<float>(4));
  fake.tracing = true;

  done("conv2d", convolution(x, w, y, {1, 1, 0, 0, 2, 2, 1, 0}));

  EXPECT_THAT(y.data, ElementsAre(1000, 3200, 7040, 9865));
  EXPECT_THAT(fake.spans, ElementsAre(concat("library:conv2d with ", library_text())));
}

TEST_F(LibraryFunctions, ConvolveGroupsWithChannelsLast) {
  Floats x = floats({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6}), w = floats({1, 2, 1, 2}, {1, 10, 100, 1000});
  Floats y = floats({1, 1, 2, 2}, std::vector<float>(4));

  done("conv2d", convolution(x, w, y, {0, 0, 0, 0, 1, 1, 2, 1}));

  EXPECT_THAT(y.data, ElementsAre(301, 4020, 503, 6040));
}

TEST_F(LibraryFunctions, RefuseWhatDoesNotFit) {
  Floats x = floats({1, 1, 3, 3}, std::vector<float>(9)),
         w = floats({1, 1, 2, 2}, std::vector<float>(4)),
         y = floats({1, 1, 2, 3}, std::vector<float>(6));
  gantry::test::Numbers<double> doubles({2, 3}, std::vector<double>(6), dtypes::float64);
  auto other = integers({2, 2}, {1, 1, 1, 1});
  std::int64_t overlapping[] = {1, 1};
  gantry_tensor narrow = c.tensor;
  narrow.strides = overlapping;

  EXPECT_THAT(message("matmul", {doubles.value(), b.value(), c.value(), no, no}),
              HasSubstr("argument 0 (A) is a tensor, expected a tensor of float32"));
  EXPECT_THAT(message("matmul", {a.value(), b.value(), other.value(), no, no}),
              HasSubstr("argument 2 (C) is a tensor, expected a tensor of float32"));
  EXPECT_THAT(message("matmul", {a.value(), a.value(), c.value(), no, no}),
              HasSubstr("a product of 2 x 3 and 2 x 3 does not have the 2 x 2 elements"));
  EXPECT_THAT(message("matmul", {a.value(), b.value(), tensor_ref_value(&narrow), no, no}),
              HasSubstr("expected a tensor whose rows do not overlap"));
  EXPECT_THAT(message("conv2d", convolution(x, w, y, {0, 0, 0, 0, 1, 1, 1, 0})),
              HasSubstr("in 1 groups is no float32[1, 1, 2, 3]"));
}

}  // namespace
}  // namespace gantry::dnnl_plugin::test
