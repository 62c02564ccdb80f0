// SPDX-License-Identifier: Apache-2.0
//
// Measures plugin discovery, the start of the command line, and the size of the core.
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include <link.h>
#include <stdlib.h>

#include <optional>

namespace gantry::bench {
namespace {

constexpr double kMs = 1e6;

int open_libraries() {
  int count = 0;
  dl_iterate_phdr([](dl_phdr_info*, std::size_t, void* n) { return ++*static_cast<int*>(n), 0; },
                  &count);
  return count;
}

// While it exists, runtimes and children of this process have the cache in a directory, or none.
class CacheHome {
 public:
  // directory  [in]  empty: none
  explicit CacheHome(const std::filesystem::path& directory) {
    for (const char* name : {"XDG_CACHE_HOME", "HOME"}) {
      const char* value = getenv(name);
      before_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
      setenv(name, directory.c_str(), 1);
    }
  }
  ~CacheHome() {
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name, value->c_str(), 1);
      } else {
        unsetenv(name);
      }
    }
  }
  CacheHome(const CacheHome&) = delete;
  CacheHome& operator=(const CacheHome&) = delete;

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

// throws   Failed if the last search has not written a cache
void expect_warm(const std::filesystem::path& home) {
  if (!std::filesystem::exists(home / "gantry/manifests"))
    throw Failed("manifests are not cached; those that are two seconds old are");
}

void add_discovery(Suite& suite) {
  RuntimeOptions options = options_with({});
  const auto add = [](const std::string& name, const std::filesystem::path& cache, auto work) {
    bench(name, [work, cache](benchmark::State& state) {
      const CacheHome home(cache);
      if (!cache.empty()) {
        (void)work();
        expect_warm(cache);
      }
      const int before = open_libraries();
      timed(state, work);
      if (open_libraries() != before) throw Failed("discovery has opened a library");
    })->UseManualTime();
  };
  add("discovery/0", "", [options] { return or_fail(Runtime::create(options)); });
  // written by fixtures.cpp
  for (const auto& [count, limit_ms] : {std::pair(20, 3.0), std::pair(500, 60.0)}) {
    const std::string directory = concat("manifests", count), name = concat("discovery/", count);
    options.plugin_paths = {(suite.fixtures / directory).string()};
    const auto work = [options] { return discover(options); };
    add(name, "", work);
    add(name + "/warm", suite.fixtures / concat("cache", count), work);
    suite.figure(
        concat("discovery of ", count, " manifests"), [name, limit_ms](const Times& times) {
          return Row{limit_ms, times.median(name) / kMs, "ms",
                     format("a runtime without any: %.3f ms", times.median("discovery/0") / kMs)};
        });
    suite.figure(
        concat("discovery of ", count, " manifests, warm cache"), [name](const Times& times) {
          const double warm = times.median(name + "/warm");
          return Row{0.2, warm / times.median(name), "x without", format("%.2f ms", warm / kMs)};
        });
  }
}

void add_command(Suite& suite, const std::string& name, double limit_ms,
                 const std::vector<std::string>& words) {
  bench("start/" + name, [words](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) run_child(words);
  })->UseRealTime();
  suite.figure("gantry " + name, [=](const Times& times) {
    const double base = times.median("start/true");
    return Row{limit_ms, (times.median("start/" + name) - base) / kMs, "ms above /bin/true",
               format("/bin/true %.2f ms", base / kMs)};
  });
}

// A fresh process until the first output of the digits, timed by itself from the start of main().
void add_first_output(Suite& suite) {
  constexpr int kMoreManifests = 20;
  const auto add = [&](const std::string& name, const std::filesystem::path& cache,
                       const std::vector<std::filesystem::path>& dirs) {
    std::vector<std::string> words{(suite.build_tree / "tests/gantry_bench_first_output").string(),
                                   (suite.golden / "tvm-0.12/digits_mlp_llvm.so").string()};
    for (const std::filesystem::path& directory : dirs) words.push_back(directory.string());
    bench("start/" + name, [words, cache](benchmark::State& state) {
      const CacheHome home(cache);
      if (!cache.empty()) {
        run_child(words);
        expect_warm(cache);
      }
      for ([[maybe_unused]] auto _ : state) state.SetIterationTime(numbers_of(words).at(0) / 1e9);
    })->UseManualTime();
  };
  const std::filesystem::path plugins = suite.build_tree / "share/gantry/plugins.d";
  add("first_output", "", {plugins});
  add("first_output_warm", suite.fixtures / "cache", {plugins});
  add("first_output_more", "", {plugins, suite.fixtures / concat("manifests", kMoreManifests)});
  suite.figure("fresh process to the first output of the digits", [](const Times& times) {
    return Row{2.2, times.median("start/first_output") / kMs, "ms",
               "plugins graph, opencl, vulkan, cuda"};
  });
  suite.figure("the same, manifests in the cache", [](const Times& times) {
    const double without = times.median("start/first_output");
    return Row{0.6, times.median("start/first_output_warm") / without, "x without",
               format("%.2f ms", without / kMs)};
  });
  suite.figure("each further manifest", [](const Times& times) {
    const double more =
        times.median("start/first_output_more") - times.median("start/first_output");
    return Row{120, more / kMoreManifests / 1e3, "us", "300 bytes each"};
  });
}

}  // namespace

void add_starts(Suite& suite) {
  add_discovery(suite);
  add_first_output(suite);
  bench("start/true", [](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) run_child({"/bin/true"});
  })->UseRealTime();
  const std::string program = (suite.build_tree / "bin/gantry").string();
  add_command(suite, "inspect", 1.3,
              {program, "inspect", (suite.golden / "tvm-0.12/axpy2_llvm.so").string()});
  add_command(suite, "version", 0.7, {program, "version"});
}

void add_memory(Suite& suite) {
  suite.figure("anonymous memory of an idle runtime", [tree = suite.build_tree](const Times&) {
    return Row{2, numbers_of({(tree / "tests/gantry_bench_memory").string(), "idle"}).at(0) / 1e6,
               "MB", "of the whole program"};
  });
}

}  // namespace gantry::bench
