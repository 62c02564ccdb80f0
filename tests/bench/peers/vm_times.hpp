// SPDX-License-Identifier: Apache-2.0
//
// Measures a Relax executable with one runtime; vm_times.cpp and tvm_times.cpp are the programs.
//
//     PROGRAM FILE main float32[1,1,8,8]     a function `main` with one input
//     PROGRAM FILE decode                    the small language model of tests/golden/data/relax
//
// Prints nanoseconds as JSON: "start", load, creation of a machine and first output; "next", the
// same for a copy of the file, when the process has opened all that it needs; "steady", the median
// of the runs after it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::bench {

using Extents = std::vector<std::int64_t>;

inline double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// "float32[1,64]"
inline Extents extents_of(std::string_view text) {
  Extents extents;
  std::string rest(text.substr(text.find('[') + 1));
  for (char* at = rest.data(); *at != ']' && *at != '\0';) {
    extents.push_back(std::strtoll(at, &at, 10));
    if (*at == ',') ++at;
  }
  return extents;
}

// Runs `run` for half a second, at least 9 times, and returns the median.
//
// batch    [in]   runs that are measured together
template <class Run>
double steady(int batch, Run run) {
  std::vector<double> times;
  for (const double end = now_ns() + 0.5e9; times.size() < 9 || now_ns() < end;) {
    const double begun = now_ns();
    for (int i = 0; i < batch; ++i) run();
    times.push_back((now_ns() - begun) / batch);
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

// Side: load(file), call(name, values...) for functions of the machine or the runtime, shape(),
// tensor(extents, is_int), tuple(values), item(value, index). Failures end the process.
template <class Side>
int measure(int argc, char** argv) {
  if (argc < 3) return 2;
  Side side;
  if (std::string_view(argv[2]) == "main" && argc == 4) {
    // The input belongs to the caller.
    const auto input = side.tensor(extents_of(argv[3]), false);
    const auto begin = [&](const char* file) {
      const double begun = now_ns();
      side.load(file);
      side.call("main", input);
      return now_ns() - begun;
    };
    const std::string copy =
        std::filesystem::temp_directory_path() / ("vm_times." + std::to_string(getpid()) + ".so");
    std::filesystem::copy_file(argv[1], copy);
    const double start = begin(argv[1]);
    const double next = begin(copy.c_str());
    std::filesystem::remove(copy);
    const double once = steady(1, [&] { side.call("main", input); });
    const int batch = once > 1e6 ? 1 : 20;
    std::printf("{\"start\": %.0f, \"next\": %.0f, \"steady\": %.1f}\n", start, next,
                steady(batch, [&] { side.call("main", input); }));
    return 0;
  }
  side.load(argv[1]);
  const std::vector<Extents> layer = {{64}, {64}, {128, 64}, {64, 64}, {256, 64}, {64, 128}};
  std::vector<typename Side::Value> weights = {side.tensor({256, 64}, false)};
  for (int i = 0; i < 2; ++i) {
    for (const Extents& extents : layer) weights.push_back(side.tensor(extents, false));
  }
  weights.push_back(side.tensor({64}, false));
  weights.push_back(side.tensor({256, 64}, false));
  const auto params = side.tuple(weights);
  const auto cache = side.call("create_tir_paged_kv_cache", side.shape({1}), side.shape({1024}),
                               side.shape({64}), side.shape({16}), side.shape({0}));
  const auto sequence = side.integer(0);
  side.call("vm.builtin.kv_state_add_sequence", cache, sequence);
  const auto sequences = side.shape({0});
  const auto step = [&](std::int64_t count) {
    const auto embedded = side.call("embed", side.tensor({count}, true), params);
    const auto input = side.call("vm.builtin.reshape", embedded, side.shape({1, count, 64}));
    side.call("vm.builtin.kv_state_begin_forward", cache, sequences, side.shape({count}));
    side.call(count == 1 ? "decode" : "prefill", input, cache, params);
    side.call("vm.builtin.kv_state_end_forward", cache);
  };
  step(64);
  const auto one = side.integer(1);
  std::printf("{\"steady\": %.1f}\n", steady(1, [&] {
                step(1);
                side.call("vm.builtin.kv_state_popn", cache, sequence, one);
              }));
  return 0;
}

}  // namespace gantry::bench
