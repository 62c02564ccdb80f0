// SPDX-License-Identifier: Apache-2.0
//
// gantry_bench <fixtures> [--benchmark_...]
// gantry_bench --devices <tree> <golden> [--benchmark_...]
//
// Runs every benchmark and prints the figures. --devices runs only those of devices, which require
// no fixtures, with the build tree and the golden files of other directories. Exit code 0: all
// limits are met; 1: some are missed; 2: nothing ran.
#include "tests/bench/suite.hpp"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  using namespace gantry::bench;
  const bool devices_only = argc >= 4 && std::string_view(argv[1]) == "--devices";
  if (!devices_only && (argc < 2 || argv[1][0] == '-')) {
    std::fprintf(stderr,
                 "usage: gantry_bench <fixtures> [--benchmark_...]\n"
                 "       gantry_bench --devices <tree> <golden> [--benchmark_...]\n");
    return 2;
  }
  const int own_words = devices_only ? 4 : 2;
  // Options of the command line come later and take precedence.
  std::string words[] = {argv[0], "--benchmark_repetitions=15", "--benchmark_min_time=0.02",
                         "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.insert(arguments.end(), argv + own_words, argv + argc);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  Suite suite{std::filesystem::absolute(argv[1]), GANTRY_GOLDEN_DIR, GANTRY_BUILD_DIR, {}};
  if (devices_only) {
    suite = {std::filesystem::temp_directory_path(),
             std::filesystem::absolute(argv[3]),
             std::filesystem::absolute(argv[2]),
             {}};
  }
  try {
    if (!devices_only) {
      for (const auto add : {add_loads, add_calls, add_graphs, add_aot, add_relay, add_pool,
                             add_packing, add_starts, add_memory})
        add(suite);
#ifdef GANTRY_BENCH_DNNL
      add_dnnl(suite);
#endif
#ifdef GANTRY_BENCH_TVM_FFI
      add_ffi_calls(suite);
#endif
    }
#ifdef GANTRY_BENCH_OPENCL
    add_opencl(suite);
#endif
#ifdef GANTRY_BENCH_VULKAN
    add_vulkan(suite);
#endif
#ifdef GANTRY_BENCH_CUDA
    add_cuda(suite);
#endif
  } catch (const Failed& failed) {
    std::fprintf(stderr, "error: %s\n", failed.what());
    return 2;
  }
  return print_figures(suite, run_benchmarks()) == 0 ? 0 : 1;
}
