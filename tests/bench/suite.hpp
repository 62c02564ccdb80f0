// SPDX-License-Identifier: Apache-2.0
//
// Benchmarks and the limits of their figures.
//
//     add_*()          register benchmarks by name, and figures over their medians
//     Google Benchmark runs all repetitions in random order
//     print_figures()  what | limit | measured | verdict
#pragma once

#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace gantry::bench {

// A part of the suite that could not run: its figures are reported as missed, with this text.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// throws Failed if `values` is empty
double median_of(std::vector<double> values);

// All repetitions of every benchmark, in nanoseconds for one iteration.
class Times {
 public:
  void add(const std::string& name, double ns) { all_[name].push_back(ns); }
  // throws Failed if the benchmark did not run
  double median(const std::string& name) const;
  const std::map<std::string, std::vector<double>>& all() const { return all_; }

 private:
  std::map<std::string, std::vector<double>> all_;
};

// One row. `limit` and `measured` are in `unit`; `beside` contains the basis of the limit.
struct Row {
  double limit = 0, measured = 0;
  std::string unit, beside;
};
struct Figure {
  std::string what;
  std::function<Row(const Times&)> row;
};

struct Suite {
  // written by fixtures.cpp
  std::filesystem::path fixtures;
  // tests/golden/data
  std::filesystem::path golden;
  // bin, lib, share
  std::filesystem::path build_tree;
  std::vector<Figure> figures;

  // Copies an artifact to fixtures/<name>. The second runtime of a process that opens a file loads a
  // copy in memory, which takes longer.
  std::filesystem::path copy_of(const std::filesystem::path& file, const std::string& name) const {
    std::filesystem::copy_file(file, fixtures / name,
                               std::filesystem::copy_options::overwrite_existing);
    return fixtures / name;
  }
  void figure(std::string what, std::function<Row(const Times&)> row) {
    figures.push_back({std::move(what), std::move(row)});
  }
};

void add_loads(Suite& suite);
void add_calls(Suite& suite);
// only with GANTRY_BENCH_TVM_FFI, after add_calls()
void add_ffi_calls(Suite& suite);
void add_graphs(Suite& suite);
void add_relay(Suite& suite);
void add_aot(Suite& suite);
void add_pool(Suite& suite);
void add_packing(Suite& suite);
void add_starts(Suite& suite);
void add_memory(Suite& suite);
// only if the plugin is built, and with fixtures
void add_dnnl(Suite& suite);
// only if the plugin is built
void add_opencl(Suite& suite);
// likewise
void add_vulkan(Suite& suite);
// likewise; without a GPU it reports that and adds nothing
void add_cuda(Suite& suite);

// Runs what the command line selects.
Times run_benchmarks();
// returns  the number of figures that are missed
int print_figures(const Suite& suite, const Times& times);

// ---- for the benchmarks themselves
// ---------------------------------------------------------------

// throws Failed with the error's text
template <class T>
T or_fail(Result<T> result) {
  if (!result.ok()) throw Failed(result.error().message);
  return std::move(result).value();
}
inline void or_fail(const Status& status) {
  if (!status.ok()) throw Failed(status.error().message);
}

// Registers a benchmark; an exception ends this benchmark only.
template <class Body>
benchmark::internal::Benchmark* bench(const std::string& name, Body body) {
  return benchmark::RegisterBenchmark(name.c_str(), [body](benchmark::State& state) mutable {
    try {
      body(state);
    } catch (const Failed& failed) {
      state.SkipWithError(failed.what());
    }
  });
}

// Four arguments of a call that the compiler cannot treat as constants.
struct Four {
  std::int64_t a = 3, b = 4;
  double c = 5, d = 6;
  void hide() { benchmark::DoNotOptimize(this), benchmark::ClobberMemory(); }
};

// Options of a runtime with the plugins of these directories only.
RuntimeOptions options_with(std::vector<std::string> plugin_paths, unsigned threads = 2);
// A runtime with the build tree's plugins and the suite's stub, without the configuration of this
// machine.
//
// config   [in]   a configuration file; empty: none
Runtime make_runtime(const Suite& suite, unsigned threads = 2, const std::string& config = "");

// Creates a runtime, which finds, reads, parses and merges the manifests that fixtures.cpp writes,
// and looks up the plugin of a device. Its library is missing, so the error names the plugin that
// was chosen.
Runtime discover(const RuntimeOptions& options);

// The function main of a Relay or Relax machine of its own, with its input.
struct VmMain {
  VmMain(Runtime& runtime, const std::filesystem::path& file, Tensor given)
      : machine(or_fail(
            or_fail(or_fail(or_fail(runtime.load(file.c_str())).function("vm_load_executable"))(
                        gantry_device_id{1, 0}))
                .module())),
        main(or_fail(machine.function("main"))),
        input(std::move(given)) {}

  Module machine;
  Function main;
  Tensor input;
};

// The address of an exported symbol of a library, which is opened if necessary and stays open.
void* symbol_of(const std::filesystem::path& library, const char* name);

// Measures `work`; `prepare` before it, and the destruction of its result, are outside the measured
// time.
template <class Work, class Prepare>
void timed(benchmark::State& state, Work work, Prepare prepare) {
  using Clock = std::chrono::steady_clock;
  for ([[maybe_unused]] auto _ : state) {
    prepare();
    const auto start = Clock::now();
    [[maybe_unused]] const auto made = work();
    const std::chrono::duration<double> took = Clock::now() - start;
    state.SetIterationTime(took.count());
  }
}
template <class Work>
void timed(benchmark::State& state, Work work) {
  timed(state, work, [] {});
}

}  // namespace gantry::bench
