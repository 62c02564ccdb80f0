// SPDX-License-Identifier: Apache-2.0
//
// Compares the thread pool with libgomp: empty parallel regions of compiled CPU code, regions
// after a pause, a network, and a small one with twice as many runnable threads as CPUs.
#include "tests/bench/bare_graph.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/gomp.hpp"
#include "tests/bench/suite.hpp"

#include "core/engine/native/packed/tvm_abi.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace gantry::bench {
namespace {

// Times of consecutive regions, in nanoseconds.
constexpr std::size_t kRegions = 200;
using RegionTimes = std::vector<std::int64_t>;
// Runs `regions` of kernels.c.
using RunRegions = std::function<void(RegionTimes&)>;

constexpr std::int64_t kSlowNs = 10'000;

// The threads of a pool that has ended its work, libgomp's above all, spin for some milliseconds.
void wait_for_idle_threads() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

std::function<Row(const Times&)> limit_by_gomp(const std::string& name, double factor) {
  return [=](const Times& times) {
    const double gomp = times.median(name + "/gomp");
    return Row{factor, times.median(name + "/gantry") / gomp, "x libgomp",
               format("libgomp %.2f us", gomp / 1e3)};
  };
}

void add_regions(const std::string& name, const RunRegions& run) {
  // One iteration takes the median time of a region.
  bench("region/empty/" + name,
        [run](benchmark::State& state) {
          wait_for_idle_threads();
          RegionTimes times(kRegions);
          for ([[maybe_unused]] auto _ : state) {
            run(times);
            state.SetIterationTime(median_of({times.begin(), times.end()}) / 1e9);
          }
        })
      ->UseManualTime()
      ->Iterations(20);
  // One iteration takes a nanosecond for each slow region before the first fast one.
  bench("region/pause/" + name,
        [run](benchmark::State& state) {
          wait_for_idle_threads();
          RegionTimes times(kRegions);
          for ([[maybe_unused]] auto _ : state) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            run(times);
            const auto fast = std::find_if(times.begin(), times.end(),
                                           [](std::int64_t ns) { return ns < kSlowNs; });
            state.SetIterationTime(static_cast<double>(fast - times.begin()) / 1e9);
          }
        })
      ->UseManualTime()
      ->Iterations(10);
}

void add_empty_regions(Suite& suite, Runtime& runtime) {
  const Function regions = or_fail(
      or_fail(runtime.load(suite.copy_of(suite.fixtures / "calls.so", "regions.so").c_str()))
          .function("regions"));
  add_regions("gantry", [regions](RegionTimes& times) {
    gantry_value args[2]{};
    args[0].kind = GANTRY_POINTER;
    args[0].p = times.data();
    args[1].kind = GANTRY_INT;
    args[1].i = static_cast<std::int64_t>(times.size());
    or_fail(regions.call(args));
  });
  const std::filesystem::path copy = suite.copy_of(suite.fixtures / "calls.so", "gomp_regions.so");
  run_on_gomp(copy);
  const auto call = reinterpret_cast<PackedCall>(symbol_of(copy, "regions"));
  add_regions("gomp", [call](RegionTimes& times) {
    PackedValue values[2], result;
    int codes[2] = {kPackedHandle, kPackedInt}, code;
    values[0].p = times.data();
    values[1].i = static_cast<std::int64_t>(times.size());
    if (call(values, codes, 2, &result, &code, nullptr) != 0) throw Failed("regions fails");
  });
  suite.figure("empty parallel region, 2 threads", limit_by_gomp("region/empty", 0.6));
  suite.figure("slow regions after a pause of 5 ms", [](const Times& times) {
    return Row{2, times.median("region/pause/gantry"), "regions",
               format("10 us or more; libgomp %.1f", times.median("region/pause/gomp"))};
  });
}

// Keeps as many threads running as this machine has CPUs.
class BusyThreads {
 public:
  BusyThreads() {
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([this] {
        while (!ending_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyThreads() {
    ending_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  BusyThreads(const BusyThreads&) = delete;

 private:
  std::atomic<bool> ending_{false};
  std::vector<std::thread> threads_;
};

// Adds <name>/gantry and <name>/gomp, a run of the model on two threads each: by the executor, and
// by a bare loop over the same kernels on libgomp.
//
// Busy     a class; one object exists during each measurement
template <class Busy>
void add_model(Suite& suite, Runtime& runtime, const std::string& name, const std::string& file) {
  const std::filesystem::path golden = suite.golden / "tvm-0.12" / (file + "_llvm.so");
  const Module model = or_fail(runtime.load(golden.c_str()));
  const auto executor =
      std::make_shared<Executor>(or_fail(Executor::create(runtime, model, {"cpu"})));
  const auto inputs = suite.golden / "tvm-0.12" / (file + ".input.npz");
  for (const auto& [input, tensor] : or_fail(runtime.read_tensors(inputs.c_str())))
    or_fail(executor->set_input(input, or_fail(tensor.row(0))));
  const std::filesystem::path copy = suite.copy_of(golden, "gomp_" + file + ".so");
  run_on_gomp(copy);
  const auto bare = std::make_shared<const BareGraph>(model, copy, *executor);
  const auto add = [](const std::string& full_name, const std::function<void()>& run) {
    bench(full_name,
          [run](benchmark::State& state) {
            wait_for_idle_threads();
            [[maybe_unused]] const Busy busy;
            for ([[maybe_unused]] auto _ : state) run();
          })
        ->UseRealTime()
        ->MinTime(0.2);
  };
  add(name + "/gantry", [executor] { or_fail(executor->run()); });
  add(name + "/gomp", [bare] { bare->run(); });
}

}  // namespace

void add_pool(Suite& suite) {
  Runtime runtime = make_runtime(suite);
  add_empty_regions(suite, runtime);
  struct Idle {};
  add_model<Idle>(suite, runtime, "resnet20", "resnet20");
  suite.figure("resnet20 steady run, 2 threads", limit_by_gomp("resnet20", 1.03));
  add_model<BusyThreads>(suite, runtime, "digits/crowded", "digits_mlp");
  suite.figure("digits, twice as many threads as CPUs", limit_by_gomp("digits/crowded", 2));
}

}  // namespace gantry::bench
