// SPDX-License-Identifier: Apache-2.0
//
// Loads, runs and drops models many times in one runtime. The number of cycles is GANTRY_CYCLES,
// default 10,000; 1,000,000 takes a few minutes for each model.
#include "tests/support/built_plugins.hpp"
#include "tests/support/files.hpp"

#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace gantry {
namespace {

namespace fs = std::filesystem;

int cycles() {
  const char* const given = std::getenv("GANTRY_CYCLES");
  return given != nullptr ? std::atoi(given) : 10'000;
}

// What a process holds.
struct Holdings {
  std::uint64_t anonymous_kib = 0, threads = 0, descriptors = 0, mappings = 0;
};

Holdings holdings() {
  Holdings now;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "RssAnon:") status >> now.anonymous_kib;
    if (word == "Threads:") status >> now.threads;
  }
  const fs::directory_iterator descriptors("/proc/self/fd");
  now.descriptors = static_cast<std::uint64_t>(std::distance(begin(descriptors), end(descriptors)));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++now.mappings;
  return now;
}

// Runs `cycle` and expects that the process holds as much in the end as after a tenth of the cycles.
template <class Cycle>
void expect_flat(const Cycle& cycle) {
  const int count = cycles();
  Holdings before;
  for (int i = 0; i < count; ++i) {
    if (i == count / 10) before = holdings();
    ASSERT_TRUE(cycle()) << "cycle " << i;
  }
  const Holdings after = holdings();
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.mappings, before.mappings);
  // the allocator may keep some pages more
  EXPECT_LE(after.anonymous_kib, before.anonymous_kib + 512);
}

Runtime make_runtime() {
  RuntimeOptions options;
  options.plugin_paths = {test::built_plugins()};
  options.only_these_plugins = true;
  return Runtime::create(options).value();
}

TEST(LoadCycles, OfAGraphKeepMemoryDescriptorsAndThreads) {
  Runtime runtime = make_runtime();
  const std::string file = test::golden("tvm-0.12/digits_mlp_llvm.so").string();
  const auto all =
      runtime.read_tensors(test::golden("tvm-0.12/digits_mlp.input.npz").string()).value();
  const Tensor input = all.front().second.row(0).value();

  expect_flat([&] {
    auto module = runtime.load(file);
    if (!module.ok()) return false;
    auto executor = Executor::create(runtime, *module, {"cpu"});
    return executor.ok() && executor->set_input("x", input).ok() && executor->run().ok();
  });
}

TEST(LoadCycles, OfAVirtualMachineKeepMemoryDescriptorsAndThreads) {
  Runtime runtime = make_runtime();
  const std::string file = test::golden("relax/cnn_llvm.so").string();
  std::string error;

  expect_flat([&] {
    const auto ran = [&]() -> Status {
      GANTRY_TRY(const Module module, runtime.load(file));
      GANTRY_TRY(Model model, runtime.model(module, {"cpu"}));
      GANTRY_TRY(ModelFunction function, model.function());
      GANTRY_TRY(const std::vector<ParameterInfo> parameters, function.inputs());
      std::vector<ModelFunction::Input> inputs;
      for (const ParameterInfo& each : parameters) {
        GANTRY_TRY(const Tensor tensor, runtime.tensor(each.type->shape, each.type->dtype));
        inputs.emplace_back(each.name, tensor);
      }
      return function.run(inputs).ok() ? Status() : invalid("run");
    }();
    if (!ran.ok()) error = ran.error().message.text();
    return ran.ok();
  });
  EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace gantry
