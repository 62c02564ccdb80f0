// SPDX-License-Identifier: Apache-2.0
//
// Prints the nanoseconds from the start of main() to the first output of a model on the CPU.
//
//     gantry_bench_first_output <file> <plugins.d>...
#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include <chrono>
#include <cstdio>

namespace {

gantry::Status run(const char* file, std::vector<std::string> directories) {
  gantry::RuntimeOptions options;
  options.plugin_paths = std::move(directories);
  options.only_these_plugins = true;
  options.threads = 2;
  options.log_level = "error";
  GANTRY_TRY(gantry::Runtime runtime, gantry::Runtime::create(options));
  GANTRY_TRY(const gantry::Module model, runtime.load(file));
  GANTRY_TRY(auto executor, gantry::Executor::create(runtime, model, {"cpu"}));
  GANTRY_CHECK(executor.run());
  GANTRY_TRY([[maybe_unused]] const gantry::Tensor output, executor.output(0));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const gantry::Status ran = run(argv[1], {argv + 2, argv + argc});
  const std::chrono::nanoseconds took = Clock::now() - start;
  if (!ran.ok()) {
    std::fprintf(stderr, "error: %s\n", ran.error().message.c_str());
    return 1;
  }
  std::printf("%lld\n", static_cast<long long>(took.count()));
  return 0;
}
