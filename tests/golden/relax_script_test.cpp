// SPDX-License-Identifier: Apache-2.0
//
// Plays the call scripts of models with KV caches, tests/golden/data/relax/README.md, and compares
// each result and the kind of each error with those of TVM.
#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/runtime.hpp>
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace gantry {
namespace {

using test::golden;

// A number of any JSON kind.
double number_of(const JsonValue& value) {
  return value.is(JsonKind::fraction) ? value.fraction() : static_cast<double>(value.integer());
}

struct Script {
  // below the golden files, without ".json"
  std::string name;
  // Rows of the results that are compared; the others are not initialized.
  std::int64_t rows = INT64_MAX;
  friend void PrintTo(const Script& script, std::ostream* out) { *out << script.name; }
};

class RelaxScript : public ::testing::TestWithParam<Script> {
 protected:
  RelaxScript() : runtime(Runtime::create(options())) {}
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.plugin_dirs = {(test::build_tree() / "share/gantry/plugins.d").string()};
    options.only_these_plugins = true;
    return options;
  }

  Any argument(const JsonValue& description) {
    const std::string_view kind = description.find("t")->text();
    if (kind == "none") return Any();
    if (kind == "params") return *Any::of_items(parameters);
    if (kind == "ref") {
      Any value = results.at(description.find("call")->count());
      for (const JsonValue index : *description.find("path"))
        value = value.items().value().at(index.count());
      return value;
    }
    if (kind == "tensor") return share(tensors.at(std::string(description.find("key")->text())));
    const JsonValue value = *description.find("v");
    if (kind == "shape") return *Any::of_shape(extents(value));
    if (kind == "str") return *Any::of_text(value.text());
    gantry_value scalar{};
    if (kind == "float") {
      scalar.kind = GANTRY_FLOAT;
      scalar.f = number_of(value);
    } else {
      EXPECT_EQ(kind, "int");
      scalar.kind = GANTRY_INT;
      scalar.i = value.integer();
    }
    return Any::adopt(scalar);
  }
  static Any share(const Tensor& tensor) {
    gantry_value value{};
    value.kind = GANTRY_TENSOR;
    value.object = tensor.get();
    return Any::share(value);
  }
  static std::vector<std::int64_t> extents(const JsonValue& list) {
    std::vector<std::int64_t> numbers;
    for (const JsonValue number : list) numbers.push_back(number.integer());
    return numbers;
  }

  void compare(const Any& found, const JsonValue& description) {
    const std::string_view kind = description.find("t")->text();
    if (kind == "none") {
      EXPECT_TRUE(found.is_none());
    } else if (kind == "int" || kind == "bool") {
      const JsonValue value = *description.find("v");
      const std::int64_t expected = kind == "bool" ? value.truth() : value.integer();
      EXPECT_EQ(found.integer().value(), expected);
    } else if (kind == "tuple") {
      const std::vector<Any> items = found.items().value();
      std::size_t i = 0;
      for (const JsonValue item : *description.find("v")) compare(items.at(i++), item);
    } else if (kind == "tensor") {
      compare_tensors(found.tensor().value(),
                      tensors.at(std::string(description.find("key")->text())));
    } else if (kind == "object") {
      EXPECT_EQ(found.value().kind, GANTRY_OBJECT);
    }
  }
  static void compare_tensors(const Tensor& found, const Tensor& expected) {
    ASSERT_EQ(type_text(found.dtype(), found.shape()),
              type_text(expected.dtype(), expected.shape()));
    if (!same_dtype(found.dtype(), dtypes::float32)) {
      ASSERT_EQ(std::memcmp(found.elements<std::uint8_t>().data(),
                            expected.elements<std::uint8_t>().data(), expected.byte_size()),
                0);
      return;
    }
    std::size_t count = expected.elements<float>().size();
    if (!expected.shape().empty() && expected.shape()[0] > GetParam().rows) {
      count = count / static_cast<std::size_t>(expected.shape()[0]) *
              static_cast<std::size_t>(GetParam().rows);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const float a = found.elements<float>()[i], b = expected.elements<float>()[i];
      ASSERT_LE(std::abs(a - b), 1e-6 + 1e-5 * std::abs(b)) << "element " << i;
    }
  }

  Result<Runtime> runtime;
  std::map<std::string, Tensor> tensors;
  std::vector<Any> parameters;
  // By the number of the call.
  std::vector<Any> results;
};

TEST_P(RelaxScript, HasTvmsResults) {
  const std::string name = "relax/" + GetParam().name;
  const std::vector<std::uint8_t> text = test::read_file(golden(name + ".json"));
  const auto tree =
      JsonTree::parse(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const JsonValue script = tree->root();
  const std::string file(script.find("file")->text());
  std::string arrays = name + ".npz";
  for (const std::string& one : {"relax/" + file.substr(0, file.size() - 3) + ".npz", arrays}) {
    auto read = runtime->read_tensors(golden(one).string());
    ASSERT_TRUE(read.ok()) << read.error().message;
    for (auto& [key, tensor] : *read) tensors[key] = tensor;
  }
  if (const auto names = script.find("params")) {
    for (const JsonValue parameter : *names)
      parameters.push_back(share(tensors.at("param." + std::string(parameter.text()))));
  }
  const auto model = runtime->load(golden("relax/" + file).string());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto made = (*model->function("vm_load_executable"))(gantry_device_id{1, 0});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Module vm = made->module().value();

  for (const JsonValue call : *script.find("calls")) {
    const std::string_view function_name = call.find("func")->text();
    SCOPED_TRACE(concat("call ", results.size(), " ", function_name));
    const bool is_global = call.find("global").has_value();
    const auto function = is_global ? runtime->function(function_name) : vm.function(function_name);
    ASSERT_TRUE(function.ok()) << function.error().message;
    std::vector<Any> args;
    std::vector<gantry_value> values;
    for (const JsonValue description : *call.find("args")) args.push_back(argument(description));
    for (const Any& arg : args) values.push_back(arg.value());
    const Result<Any> result = function->call(values);
    results.push_back(result.ok() ? *result : Any());
    if (const auto error = call.find("error")) {
      ASSERT_FALSE(result.ok());
      const auto raised = gantry::raised(result.error());
      ASSERT_TRUE(raised) << result.error().message;
      EXPECT_EQ(raised->kind, error->find("kind")->text()) << result.error().message;
      continue;
    }
    ASSERT_TRUE(result.ok()) << result.error().message;
    compare(*result, *call.find("ret"));
    if (const auto after = call.find("after")) {
      for (const JsonValue description : *after) {
        compare(args.at(static_cast<std::size_t>(std::stoi(std::string(description.key())))),
                description);
      }
    }
    ASSERT_FALSE(HasFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, RelaxScript,
                         ::testing::Values(Script{"lm_paged_llvm"},
                                           Script{"lm_paged_compiled_llvm"},
                                           Script{"v25_lm_paged_llvm"},
                                           Script{"kv_legacy_llvm", 12}));

}  // namespace
}  // namespace gantry
