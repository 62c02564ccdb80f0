// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/suite.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

namespace gantry::bench {
namespace {

// Returns why a benchmark was left; NULL if it was not. The fields have other names since Google Benchmark 1.8.
template <class Run>
const std::string* failure_of(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred ? &run.error_message : nullptr;
  } else {
    return run.skipped != 0 ? &run.skip_message : nullptr;
  }
}

// Stores every repetition and prints none; figures and medians are printed at the end.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (const std::string* const failure = failure_of(run)) {
        std::fprintf(stderr, "%s: %s\n", run.run_name.function_name.c_str(), failure->c_str());
      } else if (run.run_type == Run::RT_Iteration) {
        // Loops that only compute are measured in their thread's time, independent of other load.
        const double in_unit =
            run.run_name.time_type.empty() ? run.GetAdjustedCPUTime() : run.GetAdjustedRealTime();
        times.add(run.run_name.function_name,
                  in_unit / benchmark::GetTimeUnitMultiplier(run.time_unit) * 1e9);
      }
    }
  }
  Times times;
};

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) throw Failed("nothing was measured");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Times::median(const std::string& name) const {
  const auto found = all_.find(name);
  if (found == all_.end()) throw Failed("no run of " + name);
  return median_of(found->second);
}

Times run_benchmarks() {
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  return std::move(collector.times);
}

int print_figures(const Suite& suite, const Times& times) {
  std::printf("%-44s %12s %12s %12s  %s\n", "benchmark, ns per iteration", "median", "min", "max",
              "repetitions");
  for (const auto& [name, values] : times.all()) {
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    std::printf("%-44s %12.1f %12.1f %12.1f  %zu\n", name.c_str(), median_of(values), *min, *max,
                values.size());
  }
  int missed = 0;
  std::printf("\n| what | limit | measured | verdict | compared with |\n|---|---|---|---|---|\n");
  for (const Figure& figure : suite.figures) {
    try {
      const Row row = figure.row(times);
      const bool met = row.measured <= row.limit;
      missed += met ? 0 : 1;
      std::printf("| %s | %.4g %s | %.4g %s | %s | %s |\n", figure.what.c_str(), row.limit,
                  row.unit.c_str(), row.measured, row.unit.c_str(), met ? "met" : "MISSED",
                  row.beside.c_str());
    } catch (const std::exception& failed) {
      // Failed, or a missing file
      ++missed;
      std::printf("| %s | - | - | FAILED | %s |\n", figure.what.c_str(), failed.what());
    }
  }
  return missed;
}

RuntimeOptions options_with(std::vector<std::string> plugin_paths, unsigned threads) {
  RuntimeOptions options;
  options.plugin_paths = std::move(plugin_paths);
  options.only_these_plugins = true;
  options.threads = static_cast<int>(threads);
  options.log_level = "error";
  return options;
}

Runtime make_runtime(const Suite& suite, unsigned threads, const std::string& config) {
  RuntimeOptions options = options_with({(suite.build_tree / "share/gantry/plugins.d").string(),
                                         (suite.build_tree / "tests/bench/plugins.d").string()},
                                        threads);
  options.config_file = config;
  return or_fail(Runtime::create(options));
}

Runtime discover(const RuntimeOptions& options) {
  Runtime runtime = or_fail(Runtime::create(options));
  const auto device = runtime.device("npu10");
  if (device.ok() || device.error().message.text().find("vendor.npu10 1.2.10") == std::string::npos)
    throw Failed("discovery does not find the plugin of device npu10");
  return runtime;
}

void* symbol_of(const std::filesystem::path& library, const char* name) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* address = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (address == nullptr) throw Failed(dlerror());
  return address;
}

}  // namespace gantry::bench
