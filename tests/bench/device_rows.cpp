// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/device_rows.hpp"

#include "core/runtime/state.hpp"
#include "tests/bench/child.hpp"

#include <gantry/handle.hpp>

#include <array>
#include <cstdio>
#include <vector>

namespace gantry::bench {
namespace {

constexpr int kCycles = 1000;

gantry_value pointer(const Tensor& tensor) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = tensor.dlpack()->data;
  return value;
}

void done(gantry_code code, const char* what) {
  if (code != GANTRY_OK) throw Failed(what);
}

// "opencl" of "opencl:0": what the benchmarks' names begin with.
std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

}  // namespace

std::string OnDevice::attribute(std::string_view wanted) {
  std::vector<std::string> problems;
  for (const DeviceInfo& device : runtime.devices(problems)) {
    if (device.type != id.type || device.index != id.index) continue;
    for (const auto& [key, value] : device.attributes) {
      if (key == wanted) return value;
    }
  }
  throw Failed("device " + name + " has no attribute " + std::string(wanted));
}

void OnDevice::synchronize() const {
  done(table->synchronize(self, id.index, nullptr, nullptr), "synchronize");
}

std::shared_ptr<OnDevice> on_device(const Suite& suite, const std::string& artifact,
                                    const std::string& name) {
  Runtime runtime = make_runtime(suite);
  const auto id = runtime.device(name);
  if (!id.ok()) {
    std::fprintf(stderr, "figures of %s are left out: %s\n", name.c_str(),
                 id.error().message.c_str());
    return nullptr;
  }
  Module model = or_fail(runtime.load((suite.golden / "tvm-0.12" / artifact).string()));
  const auto device = or_fail(runtime.state().devices.get(id->type));
  return std::make_shared<OnDevice>(
      OnDevice{name, std::move(runtime), std::move(model), *id, device->table, device->self});
}

void add_launches(Suite& suite, const std::string& what, const std::shared_ptr<OnDevice>& ours,
                  std::function<void(benchmark::State&)> raw, double limit) {
  const std::string name = kind_of(ours->name) + "/100 launches/";
  const Module kernels = ours->model.imports().at(0);
  const Function kernel = or_fail(kernels.function(or_fail(kernels.functions()).at(0)));
  std::vector<Tensor> tensors;
  const std::array<std::int64_t, 1> shape{kElements};
  for (int i = 0; i < 3; ++i)
    tensors.push_back(or_fail(ours->runtime.tensor(shape, {2, 32, 1}, ours->name)));

  bench(name + "gantry", [ours, kernel, tensors](benchmark::State& state) {
    const gantry_env env{ours->id, nullptr, nullptr};
    // Handles, then numbers, then extents; the list of this kernel is fixed with the golden file.
    const std::array args{
        pointer(tensors[0]), pointer(tensors[1]), pointer(tensors[2]), int_value(kElements),
        int_value(1),        int_value(1),        int_value(1),        int_value(kElements / 64),
        int_value(64)};
    for ([[maybe_unused]] auto _ : state) {
      for (int i = 0; i < kLaunches; ++i) or_fail(kernel.call(args, &env));
      ours->synchronize();
    }
  })->UseRealTime();
  bench(name + "raw", std::move(raw))->UseRealTime();
  suite.figure(what + ", 100 launches and one wait", [name, limit](const Times& times) {
    const double bare = times.median(name + "raw");
    return Row{limit, times.median(name + "gantry") / bare, "x driver",
               format("driver %.1f us", bare / 1e3)};
  });
}

void add_copies(Suite& suite, const std::string& what, const std::string& place,
                const std::shared_ptr<OnDevice>& ours, void* bytes,
                std::function<std::function<void()>(bool to_device)> raw, Clock clock) {
  const auto timed_by = [clock](benchmark::internal::Benchmark* made) {
    if (clock == Clock::wall) made->UseRealTime();
  };
  const auto run = [](benchmark::State& state, const auto& once) {
    once();
    for ([[maybe_unused]] auto _ : state) once();
  };
  for (const bool to_device : {true, false}) {
    const std::string name = kind_of(ours->name) + "/64 MiB " + (to_device ? "in" : "out") +
                             (place.empty() ? "" : " " + place) + "/";
    timed_by(bench(name + "gantry", [=](benchmark::State& state) {
      const std::array<std::int64_t, 1> shape{kCopyBytes};
      const Tensor tensor = or_fail(ours->runtime.tensor(shape, {1, 8, 1}, ours->name));
      const gantry_place host{bytes, 0, {1, 0}};
      const gantry_place device{tensor.dlpack()->data, 0, ours->id};
      const gantry_copy copy{sizeof copy, GANTRY_COPY_BLOCKING, to_device ? host : device,
                             to_device ? device : host, kCopyBytes};
      run(state, [&] {
        done(ours->table->copy(ours->self, ours->id.index, &copy, nullptr, nullptr), "copy");
      });
    }));
    timed_by(bench(name + "raw", [=](benchmark::State& state) { run(state, raw(to_device)); }));
    suite.figure(what + ", 64 MiB " + (to_device ? "to the device" : "to the host") +
                     (place.empty() ? "" : ", " + place),
                 [name](const Times& times) {
                   const double bare = times.median(name + "raw");
                   return Row{1 / 0.95, times.median(name + "gantry") / bare, "x driver's time",
                              format("driver %.1f GB/s", static_cast<double>(kCopyBytes) / bare)};
                 });
  }
}

void add_cycles(Suite& suite, const std::string& what, const std::string& artifact,
                const std::string& device) {
  const std::string name = kind_of(device) + "/1000 executors";
  // Device and process bytes after the first, then after the last.
  const auto numbers = std::make_shared<std::vector<double>>();
  bench(name,
        [=, golden = suite.golden, tree = suite.build_tree](benchmark::State& state) {
          for ([[maybe_unused]] auto _ : state) {
            *numbers = numbers_of({(tree / "tests/gantry_bench_memory").string(), "cycles",
                                   (golden / "tvm-0.12" / artifact).string(),
                                   (tree / "share/gantry/plugins.d").string(), device,
                                   std::to_string(kCycles)});
          }
        })
      ->Iterations(1)
      ->Repetitions(1);
  const auto read = [=](const Times& times) {
    times.median(name);  // throws where it did not run
    if (numbers->size() != 4)
      throw Failed("gantry_bench_memory cycles does not print four numbers");
    return *numbers;
  };
  suite.figure(what + ", device bytes more after 1,000 executors", [read](const Times& times) {
    const auto found = read(times);
    return Row{0, found[2] - found[0], "bytes", format("%.0f bytes after one", found[0])};
  });
  suite.figure(what + ", process memory more after 1,000 executors", [read](const Times& times) {
    const auto found = read(times);
    return Row{1, (found[3] - found[1]) / 1e6, "MB", format("%.1f MB after one", found[1] / 1e6)};
  });
}

}  // namespace gantry::bench
