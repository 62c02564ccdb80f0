// SPDX-License-Identifier: Apache-2.0
//
// Compares the graph executor with a bare loop over the same kernels: the overhead of an operator.
#include "tests/bench/bare_graph.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

namespace gantry::bench {
namespace {

// Adds <name>/gantry and <name>/raw, one run each. `call_all` runs the bare loop inside a call of
// the same runtime.
void add_graph(Runtime& runtime, const std::string& name, const std::filesystem::path& file,
               const Function& call_all) {
  const Module model = or_fail(runtime.load(file.c_str()));
  auto executor = std::make_shared<Executor>(or_fail(Executor::create(runtime, model, {"cpu"})));
  const auto bare = std::make_shared<const BareGraph>(model, file, *executor);
  bench(name + "/gantry", [executor](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) or_fail(executor->run());
  });
  bench(name + "/raw", [bare, call_all](benchmark::State& state) {
    gantry_value args[2]{};
    args[0].kind = GANTRY_POINTER;
    args[0].p = const_cast<void*>(bare->calls());
    args[1].kind = GANTRY_INT;
    args[1].i = bare->call_count();
    for ([[maybe_unused]] auto _ : state) or_fail(call_all.call(args));
  });
}

}  // namespace

void add_graphs(Suite& suite) {
  Runtime runtime = make_runtime(suite);
  const std::filesystem::path loop = suite.copy_of(suite.fixtures / "calls.so", "loop.so");
  const Function call_all = or_fail(or_fail(runtime.load(loop.c_str())).function("call_all"));

  for (const char* length : {"10", "1000", "10000"}) {
    add_graph(runtime, std::string("chain/") + length,
              suite.fixtures / (std::string("chain") + length + ".so"), call_all);
  }
  suite.figure("graph executor, an operator above its raw call", [](const Times& times) {
    const auto slope = [&](const char* whose) {
      const std::string side = whose;
      return (times.median("chain/10000/" + side) - times.median("chain/10/" + side)) /
             (10'000 - 10);
    };
    return Row{1, slope("gantry") - slope("raw"), "ns",
               format("%.2f ns in all, ", slope("gantry")) + format("raw %.2f ns", slope("raw"))};
  });
}

}  // namespace gantry::bench
