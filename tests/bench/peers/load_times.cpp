// SPDX-License-Identifier: Apache-2.0
//
// gantry_bench_load_times <file>: prints the median time of 20 loads as JSON, for compare.py.
#include <gantry/embed.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  gantry::RuntimeOptions options;
  options.threads = 2;
  auto runtime = gantry::Runtime::create(options);
  std::vector<double> times;
  for (int i = 0; runtime.ok() && argc == 2 && i < 20; ++i) {
    const auto begun = Clock::now();
    const auto loaded = runtime->load(argv[1]);
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begun).count());
    if (!loaded.ok()) {
      std::fprintf(stderr, "%s\n",
                   loaded.error()
                       .message.text()
                       .substr(0, loaded.error().message.text().find('\n'))
                       .c_str());
      return 1;
    }
  }
  if (times.empty()) return 2;
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  std::printf("{\"load_ns\": %.0f}\n", times[10]);
  return 0;
}
