// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/device_rows.hpp"

#include "tests/bench/child.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
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

// Returns wall-clock or thread time in nanoseconds.
double now(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Nanoseconds of every sample.
struct Samples {
  std::vector<double> ours, raw;
  int repetitions = 0;
};

double min_of(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

struct Pair {
  std::string what, name;
  MakeWay ours, raw;
  Clock clock;
  double limit;
  std::string unit;
  std::function<std::string(double raw_ns)> beside;
};

// Adds a figure of two functions that run in turn, so that other load on the machine affects both
// equally, unlike two successive benchmarks.
void add_pair(Suite& suite, const Pair& pair) {
  const auto samples = std::make_shared<Samples>();
  bench(pair.name,
        [pair, samples](benchmark::State& state) {
          // The address of memory changes a copy's time by 5 %, and it depends on the order of
          // allocation.
          const bool is_even = samples->repetitions++ % 2 == 0;
          Way ours = is_even ? pair.ours() : Way();
          const Way raw = pair.raw();
          if (!is_even) ours = pair.ours();
          // Exclude what is built on first use.
          ours(), raw();
          bool ours_first = false;
          const auto time = [&](const Way& way, std::vector<double>& to) {
            const double begun = now(pair.clock);
            way();
            to.push_back(now(pair.clock) - begun);
          };
          for ([[maybe_unused]] auto _ : state) {
            ours_first = !ours_first;
            if (ours_first) time(ours, samples->ours);
            time(raw, samples->raw);
            if (!ours_first) time(ours, samples->ours);
            state.SetIterationTime((samples->ours.back() + samples->raw.back()) / 1e9);
          }
        })
      ->UseManualTime()
      ->MinTime(0.1);
  suite.figure(pair.what, [pair, samples](const Times& times) {
    // throws if it did not run
    times.median(pair.name);
    const double raw = median_of(samples->raw);
    return Row{pair.limit, median_of(samples->ours) / raw, pair.unit,
               pair.beside(raw) +
                   format("; %.3f x by the least", min_of(samples->ours) / min_of(samples->raw)) +
                   format(" of %.0f", static_cast<double>(samples->raw.size()))};
  });
}

// "opencl" of "opencl:0": the prefix of the benchmarks' names.
std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

}  // namespace

std::string OnDevice::attribute(std::string_view wanted) {
  const DeviceList list = or_fail(runtime.devices());
  for (const DeviceInfo& device : list.devices) {
    if (!same_device(device.id, id)) continue;
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
    std::fprintf(stderr, "figures of %s are omitted: %s\n", name.c_str(),
                 id.error().message.c_str());
    return nullptr;
  }
  Module model = or_fail(runtime.load((suite.golden / "tvm-0.12" / artifact).c_str()));
  const auto device = or_fail(runtime.device_table(*id));
  return std::make_shared<OnDevice>(
      OnDevice{name, std::move(runtime), std::move(model), *id, device.table, device.self});
}

void add_launches(Suite& suite, const std::string& what, const std::shared_ptr<OnDevice>& ours,
                  const MakeWay& raw, double limit) {
  const Module kernels = or_fail(ours->model.imports()).at(0);
  const Function kernel = or_fail(kernels.function(or_fail(kernels.functions()).at(0)));
  const auto make_ours = [ours, kernel]() -> Way {
    std::vector<Tensor> tensors;
    const std::array<std::int64_t, 1> shape{kElements};
    for (int i = 0; i < 3; ++i)
      tensors.push_back(or_fail(ours->runtime.tensor(shape, {2, 32, 1}, ours->name)));
    return [ours, kernel, tensors] {
      const gantry_env env{ours->id, nullptr, nullptr, nullptr};
      // Handles, then numbers, then extents: the parameters of the kernel in the golden file.
      const std::array args{
          pointer(tensors[0]), pointer(tensors[1]), pointer(tensors[2]), int_value(kElements),
          int_value(1),        int_value(1),        int_value(1),        int_value(kElements / 64),
          int_value(64)};
      for (int i = 0; i < kLaunches; ++i) or_fail(kernel.call(args, &env));
      ours->synchronize();
    };
  };
  add_pair(suite, {what + ", 100 launches and one wait", kind_of(ours->name) + "/100 launches",
                   make_ours, raw, Clock::wall, limit, "x driver",
                   [](double ns) { return format("driver %.1f us", ns / 1e3); }});
}

void add_copies(Suite& suite, const std::string& what, const std::string& location,
                const std::shared_ptr<OnDevice>& ours, void* bytes, const MakeCopy& raw,
                Clock clock) {
  const MakeCopy make_ours = [ours, bytes]() -> Copy {
    const std::array<std::int64_t, 1> shape{kCopyBytes};
    const Tensor tensor = or_fail(ours->runtime.tensor(shape, {1, 8, 1}, ours->name));
    return [ours, bytes, tensor](bool to_device) {
      const gantry_location host{bytes, 0, {1, 0}};
      const gantry_location device{tensor.dlpack()->data, 0, ours->id};
      const gantry_copy copy{sizeof copy, GANTRY_COPY_BLOCKING, to_device ? host : device,
                             to_device ? device : host, kCopyBytes};
      done(ours->table->copy(ours->self, ours->id.index, &copy, nullptr, nullptr), "copy");
    };
  };
  for (const bool to_device : {true, false}) {
    const auto one_way = [to_device](const MakeCopy& make) -> MakeWay {
      return [to_device, make]() -> Way {
        const Copy copy = make();
        // Writes both memories first: an unwritten page faults, or maps one shared page of zeros.
        for (const bool in : {true, false}) copy(in);
        return [copy, to_device] { copy(to_device); };
      };
    };
    const std::string behind = location.empty() ? "" : " " + location;
    add_pair(suite,
             {what + ", 64 MiB " + (to_device ? "to the device" : "to the host") +
                  (location.empty() ? "" : ", " + location),
              kind_of(ours->name) + "/64 MiB " + (to_device ? "in" : "out") + behind,
              one_way(make_ours), one_way(raw), clock, 1 / 0.95, "x driver's time", [](double ns) {
                return format("driver %.1f GB/s", static_cast<double>(kCopyBytes) / ns);
              }});
  }
}

void add_cycles(Suite& suite, const std::string& what, const std::string& artifact,
                const std::string& device) {
  const std::string name = kind_of(device) + "/1000 executors";
  // Device and process bytes after the first executor, then after the last.
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
    // throws if it did not run
    times.median(name);
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
