// SPDX-License-Identifier: Apache-2.0
//
// Models whose graphs are on device number 12, ext_dev, and on the CPU, with the devices that the
// runtime chooses and with those that the program names.
#include "core/writing/pack.hpp"
#include "tests/conformance/ext_dev_models.hpp"
#include "tests/support/built_plugins.hpp"
#include "under_test.hpp"

#include <gmock/gmock.h>

#include <mutex>

namespace gantry::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExtDevModel : public ::testing::Test {
 protected:
  ExtDevModel() {
    RuntimeOptions options;
    options.plugin_paths = {test::built_plugins("graph"),
                            (test::build_tree() / "tests/conformance/plugins.d").string()};
    options.only_these_plugins = true;
    options.log_level = "warning";
    options.log_sink = [this](std::int32_t, std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_ += line;
    };
    runtime = Runtime::create(options).value();
  }

  Module packed(const std::filesystem::path& file) {
    const auto recipe = read_recipe(file);
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
    const auto done = pack(*recipe, directory / "model.so");
    EXPECT_TRUE(done.ok()) << done.error().message;
    return runtime.load((directory / "model.so").string()).value();
  }
  Module spread() { return packed(test::write_spread_model(directory.path())); }
  Module copied() { return packed(test::write_copied_model(directory.path())); }

  // Returns the last element of the output; all elements of an input are equal.
  static Result<float> run(const Runtime& runtime, const Module& module,
                           const std::vector<std::string>& devices,
                           const std::vector<std::pair<std::string, float>>& inputs) {
    GANTRY_TRY(const Model model, runtime.model(module, devices));
    GANTRY_TRY(const ModelFunction function, model.function());
    const std::int64_t shape[] = {100};
    std::vector<std::pair<std::string_view, Any>> tensors;
    for (const auto& [name, value] : inputs) {
      GANTRY_TRY(Tensor tensor, runtime.tensor(shape, {2, 32, 1}));
      for (float& element : tensor.elements<float>()) element = value;
      tensors.emplace_back(name, std::move(tensor));
    }
    GANTRY_TRY(const auto outputs, function.run(tensors));
    GANTRY_TRY(const Tensor output, outputs.front().value.tensor());
    GANTRY_TRY(Tensor host, runtime.tensor(output.shape(), output.dtype()));
    GANTRY_CHECK(runtime.copy(output, host));
    return host.elements<float>().back();
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  std::mutex mutex_;
  std::string log_;

 public:
  test::TempDir directory;
  Runtime runtime;
};

// Two devices have an assigned number; the modules of the artifact determine which one is meant.
TEST_F(ExtDevModel, RunsOnTheDeviceOfItsModules) {
  const Module module = spread();

  const auto chosen = run(runtime, module, {}, {{"x", 4}, {"w", 10}});
  const auto named = run(runtime, module, {"abacus:1", "cpu"}, {{"x", 4}, {"w", 10}});

  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(*chosen, 12);
  EXPECT_EQ(*named, 12);
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(ExtDevModel, IsRefusedOnADeviceOfOtherModules) {
  const Module module = spread();

  // One that the model does not use is not to be named beside one that it does.
  const std::pair<std::vector<std::string>, std::string> refusals[] = {
      {{"soroban:0", "cpu"}, ""},
      {{"soroban:0"}, ""},
      {{"abacus"}, ": name cpu as well"},
      {{"cpu"}, ": name abacus as well"}};
  for (const auto& [names, advice] : refusals) {
    const auto refused = run(runtime, module, names, {{"x", 4}, {"w", 10}});

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().reason, "DEVICE");
    EXPECT_THAT(refused.error().message,
                HasSubstr(concat("\"model.so\" is made for abacus, cpu, model_new names ",
                                 join(names), advice, "; this host has: cpu, abacus:0")));
  }
}

TEST_F(ExtDevModel, WithoutModulesRunsOnTheFirstDeviceByNameAndLogsIt) {
  const Module module = copied();

  const auto chosen = run(runtime, module, {}, {{"x", 4}});

  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(*chosen, 2);
  EXPECT_EQ(log(),
            "\"model.so\" is made for ext_dev, served by abacus, soroban: abacus is used; name a "
            "device to use another one");
}

TEST_F(ExtDevModel, WithoutModulesRunsOnTheNamedDevice) {
  const Module module = copied();

  const auto named = run(runtime, module, {"soroban:1", "cpu"}, {{"x", 4}});
  const auto refused = run(runtime, module, {"cpu"}, {{"x", 4}});

  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(*named, 2);
  EXPECT_THAT(log(), IsEmpty());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("\"model.so\" is made for ext_dev, cpu, model_new names cpu"));
}

}  // namespace
}  // namespace gantry::conformance
