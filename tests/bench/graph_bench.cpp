// SPDX-License-Identifier: Apache-2.0
//
// Compares the graph executor with a bare loop over the same kernels: the overhead of an operator,
// and a complete network.
#include "tests/bench/bare_graph.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

namespace gantry::bench {
namespace {

// Adds <name>/gantry and <name>/raw, one run each. `call_all` runs the bare loop inside a call of
// the same runtime, so that the kernels use its pool.
//
// threads  [in]   true if the kernels use the pool: measures wall-clock time, not thread time
void add_graph(Runtime& runtime, const std::string& name, const std::filesystem::path& file,
               const std::filesystem::path& inputs, const Function& call_all, bool threads) {
  const Module model = or_fail(runtime.load(file));
  auto executor = std::make_shared<Executor>(or_fail(runtime.executor(model, {"cpu"})));
  if (!inputs.empty()) {
    for (const auto& [input, tensor] : or_fail(runtime.read_tensors(inputs.string())))
      or_fail(executor->set_input(input, or_fail(tensor.row(0))));
  }
  const auto bare = std::make_shared<const BareGraph>(model, file, *executor);
  auto* const ours = bench(name + "/gantry", [executor](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) or_fail(executor->run());
  });
  auto* const raw = bench(name + "/raw", [bare, call_all](benchmark::State& state) {
    gantry_value args[2]{};
    args[0].kind = GANTRY_POINTER;
    args[0].p = const_cast<void*>(bare->calls());
    args[1].kind = GANTRY_INT;
    args[1].i = bare->call_count();
    for ([[maybe_unused]] auto _ : state) or_fail(call_all.call(args));
  });
  if (threads) {
    ours->UseRealTime();
    raw->UseRealTime();
  }
}

}  // namespace

void add_graphs(Suite& suite) {
  Runtime runtime = make_runtime(suite);
  // A copy of the file: the second runtime in a process that opens a file loads a copy in memory.
  const std::filesystem::path loop = suite.fixtures / "loop.so";
  std::filesystem::copy_file(suite.fixtures / "calls.so", loop,
                             std::filesystem::copy_options::overwrite_existing);
  const Function call_all = or_fail(or_fail(runtime.load(loop)).function("call_all"));

  for (const char* length : {"10", "1000", "10000"}) {
    add_graph(runtime, std::string("chain/") + length,
              suite.fixtures / (std::string("chain") + length + ".so"), {}, call_all, false);
  }
  suite.figure("graph executor, an operator above its raw call", [](const Times& times) {
    const auto slope = [&](const char* whose) {
      const std::string side = whose;
      return (times.median("chain/10000/" + side) - times.median("chain/10/" + side)) /
             (10'000 - 10);
    };
    return Row{8, slope("gantry") - slope("raw"), "ns",
               format("%.2f ns in all, ", slope("gantry")) + format("raw %.2f ns", slope("raw"))};
  });

  add_graph(runtime, "resnet20", suite.golden / "tvm-0.12/resnet20_llvm.so",
            suite.golden / "tvm-0.12/resnet20.input.npz", call_all, true);
  suite.figure("resnet20 steady run, two threads", [](const Times& times) {
    const double raw = times.median("resnet20/raw");
    return Row{1.01, times.median("resnet20/gantry") / raw, "x bare loop",
               format("bare loop %.1f us", raw / 1e3)};
  });
}

}  // namespace gantry::bench
