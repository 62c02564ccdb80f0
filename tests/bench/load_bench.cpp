// SPDX-License-Identifier: Apache-2.0
//
// Compares loading a file, up to a module whose functions can be looked up, with bare dlopen of the
// file; and measures the creation of an executor.
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include <gantry/concat.hpp>

#include <dlfcn.h>

#include <fstream>
#include <memory>

namespace gantry::bench {
namespace {

constexpr double kStubs = 10'000;
constexpr double kUs = 1e3, kMb = 1e6;

struct Library {
  explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() { dlclose(handle); }
  Library(const Library&) = delete;
  void* handle;
};

// Adds <name>/gantry and <name>/dlopen for a file that is not open elsewhere.
void add_load(Runtime& runtime, const std::string& name, const std::string& file) {
  bench(name + "/gantry", [runtime, file](benchmark::State& state) mutable {
    // Open the plugins before the measurement.
    or_fail(runtime.load(file));
    timed(state, [&] { return or_fail(runtime.load(file)); });
  })->UseManualTime();
  bench(name + "/dlopen", [file](benchmark::State& state) {
    timed(state, [&] { return std::make_unique<Library>(file); });
  })->UseManualTime();
}

std::function<Row(const Times&)> limit_by_dlopen(const std::string& name, double factor,
                                                 double extra_ns) {
  return [=](const Times& times) {
    const double bare = times.median(name + "/dlopen");
    return Row{(factor * bare + extra_ns) / kUs, times.median(name + "/gantry") / kUs, "us",
               "bare dlopen " + format("%.1f us", bare / kUs)};
  };
}

void read_whole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> piece(1 << 20);
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size()))) {
  }
}

void add_resnet(Suite& suite, Runtime& runtime) {
  // A copy, because the graph benchmarks keep the golden file open.
  const std::filesystem::path copy =
      suite.copy_of(suite.golden / "tvm-0.12/resnet20_llvm.so", "resnet20_llvm.so");
  add_load(runtime, "load/resnet20", copy);
  suite.figure("load of resnet20_llvm.so", limit_by_dlopen("load/resnet20", 1, 60 * kUs));

  bench("executor/resnet20", [runtime, copy](benchmark::State& state) mutable {
    const Module model = or_fail(runtime.load(copy.c_str()));
    timed(state, [&] { return or_fail(Executor::create(runtime, model, {"cpu"})); });
  })->UseManualTime();
  suite.figure("load of resnet20_llvm.so and executor creation", [](const Times& times) {
    const double bare = times.median("load/resnet20/dlopen");
    const double load = times.median("load/resnet20/gantry");
    const double executor = times.median("executor/resnet20");
    return Row{(bare + 140 * kUs) / kUs, (load + executor) / kUs, "us",
               format("bare dlopen %.1f us, ", bare / kUs) +
                   format("executor creation %.1f us", executor / kUs)};
  });
}

// What the cache directory of a runtime has when it loads an archive.
enum class Cache { warm, empty, none };

// Adds a row for an archive that is loaded with this cache.
void add_archive(Suite& suite, const std::string& file, Cache cache, const std::string& words) {
  const std::string name = concat("load/archive/", words);
  const std::filesystem::path directory = suite.fixtures / concat("cache-", words);
  const std::string config = suite.fixtures / concat("cache-", words, ".yaml");
  std::filesystem::create_directories(directory);
  std::ofstream(config) << "cache: " << (cache == Cache::none ? "none" : directory.string())
                        << "\n";
  Runtime runtime = make_runtime(suite, 2, config);
  bench(name, [runtime, file, directory, cache](benchmark::State& state) mutable {
    // Opens the plugins, and fills the cache.
    or_fail(runtime.load(file));
    timed(
        state, [&] { return or_fail(runtime.load(file)); },
        [&] {
          if (cache != Cache::empty) return;
          for (const auto& entry : std::filesystem::directory_iterator(directory))
            std::filesystem::remove_all(entry);
        });
  })->UseManualTime();
  suite.figure(concat("load of an archive with resnet20_llvm.so, ", words, " cache"),
               [name](const Times& times) {
                 const double library = times.median("load/resnet20/gantry");
                 return Row{2, times.median(name) / library, "x",
                            format("load of the library %.1f us", library / kUs)};
               });
}

void add_archives(Suite& suite) {
  const std::string file = suite.fixtures / "resnet20.tar";
  add_archive(suite, file, Cache::warm, "warm");
  add_archive(suite, file, Cache::empty, "empty");
  add_archive(suite, file, Cache::none, "no");
}

void add_big(Suite& suite, Runtime& runtime) {
  const std::string what = "load of 16 parameters of 64 MiB";
  const std::filesystem::path file = suite.fixtures / "big.so";
  if (!std::filesystem::exists(file)) {
    suite.figure(what, [](const Times&) -> Row {
      throw Failed("artifact is missing; run tests/bench/run without --small");
    });
    return;
  }
  read_whole(file);
  add_load(runtime, "load/big", file);
  suite.figure(what, limit_by_dlopen("load/big", 2, 100 * kUs));
  const auto memory = std::make_shared<std::vector<double>>(
      numbers_of({(suite.build_tree / "tests/gantry_bench_memory").string(), "load", file,
                  (suite.build_tree / "share/gantry/plugins.d").string()}));
  const auto more = [&](const char* when, std::size_t at) {
    suite.figure(what + ", anonymous memory " + when, [=](const Times&) {
      return Row{5, (memory->at(at) - memory->at(0)) / kMb, "MB",
                 format("%.2f MB before", memory->at(0) / kMb)};
    });
  };
  more("loaded", 1);
  more("with an executor", 2);
}

void add_stubs(Suite& suite, Runtime& runtime) {
  add_load(runtime, "load/stubs", suite.fixtures / "stubs10000.so");
  suite.figure("10,000 modules of 64 bytes, each", [](const Times& times) {
    const double bare = times.median("load/stubs/dlopen");
    return Row{150, (times.median("load/stubs/gantry") - bare) / kStubs, "ns",
               "bare dlopen " + format("%.1f us", bare / kUs) + " subtracted"};
  });
}

}  // namespace

void add_loads(Suite& suite) {
  Runtime runtime = make_runtime(suite);
  add_resnet(suite, runtime);
  add_archives(suite);
  add_big(suite, runtime);
  add_stubs(suite, runtime);
}

}  // namespace gantry::bench
