// SPDX-License-Identifier: Apache-2.0
//
// Compares the Relay virtual machine with a bare loop over the same kernels: the overhead of a packed
// call, and a steady run of resnet20.
#include "tests/bench/bare_graph.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include <algorithm>
#include <vector>

namespace gantry::bench {
namespace {

void add_machine(Runtime& runtime, const std::string& name, const std::filesystem::path& file,
                 const Tensor& input) {
  const auto relay = std::make_shared<VmMain>(runtime, file, input);
  bench(name, [relay](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) or_fail(relay->main(relay->input));
  });
}

}  // namespace

void add_relay(Suite& suite) {
  Runtime runtime = make_runtime(suite, 1);
  const Function call_all = or_fail(
      or_fail(runtime.load(suite.copy_of(suite.fixtures / "calls.so", "relay_loop.so").c_str()))
          .function("call_all"));
  const auto add_bare = [&](const std::string& name, const std::filesystem::path& file,
                            const std::string& input_name, const Tensor& input) {
    const Module model = or_fail(runtime.load(file.c_str()));
    Executor executor = or_fail(Executor::create(runtime, model, {"cpu"}));
    or_fail(executor.set_input(input_name, input));
    const auto bare = std::make_shared<const BareGraph>(model, file, executor);
    bench(name, [bare, call_all](benchmark::State& state) {
      gantry_value args[2]{};
      args[0].kind = GANTRY_POINTER;
      args[0].p = const_cast<void*>(bare->calls());
      args[1].kind = GANTRY_INT;
      args[1].i = bare->call_count();
      for ([[maybe_unused]] auto _ : state) or_fail(call_all.call(args));
    });
  };

  // Numbers whose sums and products are normal ones: others take longer.
  const auto halves = [&](const std::vector<std::int64_t>& shape) {
    Tensor made = or_fail(runtime.tensor(shape, {2, 32, 1}));
    std::fill_n(static_cast<float*>(made.data()), made.byte_size() / sizeof(float), 0.5f);
    return made;
  };
  const Tensor one = halves({1});
  for (const char* const length : {"10", "10000"}) {
    const std::string name = std::string("chain") + length;
    add_bare(std::string("relay/") + length + "/raw",
             suite.copy_of(suite.fixtures / (name + ".so"), "relay_raw_" + name + ".so"), "t0",
             one);
    add_machine(runtime, std::string("relay/") + length + "/gantry",
                suite.fixtures / ("relay_" + name + ".so"), one);
  }
  suite.figure("Relay machine, a packed call above the raw call", [](const Times& times) {
    const auto slope = [&](const char* whose) {
      const std::string side = whose;
      return (times.median("relay/10000/" + side) - times.median("relay/10/" + side)) /
             (10'000 - 10);
    };
    return Row{15, slope("gantry") - slope("raw"), "ns",
               format("%.2f ns in all, ", slope("gantry")) + format("raw %.2f ns", slope("raw"))};
  });

  const std::filesystem::path resnet =
      suite.copy_of(suite.golden / "tvm-0.12/resnet20_llvm.so", "relay_raw_resnet20.so");
  const Tensor image = halves({1, 3, 28, 28});
  add_bare("relay/resnet20/raw", resnet, "data", image);
  add_machine(runtime, "relay/resnet20/gantry", suite.fixtures / "relay_resnet20.so", image);
  suite.figure("Relay machine, resnet20 steady run, 1 thread", [](const Times& times) {
    const double raw = times.median("relay/resnet20/raw");
    return Row{1.03, times.median("relay/resnet20/gantry") / raw, "x",
               format("bare loop %.0f us", raw / 1000)};
  });
}

}  // namespace gantry::bench
