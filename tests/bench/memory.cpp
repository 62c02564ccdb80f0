// SPDX-License-Identifier: Apache-2.0
//
// Prints the anonymous memory of a program with a runtime, in bytes (/proc/self/smaps_rollup).
//
//     gantry_bench_memory idle
//     gantry_bench_memory load <file> <plugins.d>
//     gantry_bench_memory cycles <file> <plugins.d> <device> <count>
//
// idle     one number
// load     three numbers: before the load, after it, and with an executor that has run
// cycles   creates, runs and destroys <count> executors; four numbers: bytes on the device and bytes
//          of the process after the first executor, then the same after the last
#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include "tests/support/anonymous_bytes.hpp"

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using gantry::test::anonymous_bytes;

template <class T>
T or_exit(gantry::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "error: %s\n", result.error().message.c_str());
  _exit(1);
}

// Returns the device's attribute of allocated bytes.
long long device_bytes(const gantry::Runtime& runtime, gantry_device_id id) {
  const gantry::DeviceList list = or_exit(runtime.devices());
  for (const gantry::DeviceInfo& device : list.devices) {
    if (!gantry::same_device(device.id, id)) continue;
    for (const auto& [name, value] : device.attributes) {
      if (name == "allocated_bytes") return std::stoll(value);
    }
  }
  return -1;
}

int cycles(const gantry::Runtime& runtime, const char* file, const std::string& device, int count) {
  const gantry::Module model = or_exit(runtime.load(file));
  const gantry_device_id id = or_exit(runtime.device(device));
  for (int i = 1; i <= count; ++i) {
    {
      auto executor = or_exit(gantry::Executor::create(runtime, model, {device}));
      if (const gantry::Status ran = executor.run(); !ran.ok()) {
        std::fprintf(stderr, "error: %s\n", ran.error().message.c_str());
        return 1;
      }
      gantry::Tensor output = or_exit(executor.output(0));
      gantry::Tensor host = or_exit(runtime.tensor(output.shape(), output.dtype(), "cpu"));
      if (!runtime.copy(output, host).ok()) return 1;
    }
    if (i == 1 || i == count) {
      // The attribute is read first because this starts every driver.
      const long long on_device = device_bytes(runtime, id);
      std::printf("%lld %lld\n", on_device, anonymous_bytes());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  gantry::RuntimeOptions options;
  options.threads = 2;
  if (argc >= 4) {
    options.plugin_paths = {argv[3]};
    options.only_these_plugins = true;
  }
  const gantry::Runtime runtime = or_exit(gantry::Runtime::create(options));
  if (argc == 6) return cycles(runtime, argv[2], argv[4], std::atoi(argv[5]));
  const long long idle = anonymous_bytes();
  if (argc != 4) {
    std::printf("%lld\n", idle);
    return 0;
  }
  const gantry::Module model = or_exit(runtime.load(argv[2]));
  const long long loaded = anonymous_bytes();
  auto executor = or_exit(gantry::Executor::create(runtime, model, {"cpu"}));
  const gantry::Status ran = executor.run();
  const long long with_executor = anonymous_bytes();
  std::printf("%lld %lld %lld\n", idle, loaded, with_executor);
  return ran.ok() ? 0 : 1;
}
