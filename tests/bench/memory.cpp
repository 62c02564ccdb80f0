// SPDX-License-Identifier: Apache-2.0
//
// How much anonymous memory a program has that holds a runtime, in bytes (/proc/self/smaps_rollup).
//
//     gantry_bench_memory idle                     one number
//     gantry_bench_memory load <file> <plugins.d>  before, loaded, with an executor that has run
#include "core/runtime/runtime.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstring>

namespace {

long long anonymous_bytes() {
  char text[4096];
  const int file = open("/proc/self/smaps_rollup", O_RDONLY);
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = 0;
  const char* line = std::strstr(text, "\nAnonymous:");
  long long kib = -1;
  if (line != nullptr) std::sscanf(line, "\nAnonymous: %lld", &kib);
  return kib * 1024;
}

template <class T>
T or_exit(gantry::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "error: %s\n", result.error().message.c_str());
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  gantry::RuntimeOptions options;
  options.threads = 2;
  if (argc == 4) {
    options.plugin_dirs = {argv[3]};
    options.only_these_plugins = true;
  }
  gantry::Runtime runtime = or_exit(gantry::Runtime::create(options));
  const long long idle = anonymous_bytes();
  if (argc != 4) {
    std::printf("%lld\n", idle);
    return 0;
  }
  const gantry::Module model = or_exit(runtime.load(argv[2]));
  const long long loaded = anonymous_bytes();
  gantry::Executor executor = or_exit(runtime.executor(model, {"cpu"}));
  const gantry::Status ran = executor.run();
  const long long with_executor = anonymous_bytes();
  std::printf("%lld %lld %lld\n", idle, loaded, with_executor);
  return ran.ok() ? 0 : 1;
}
