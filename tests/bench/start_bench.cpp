// SPDX-License-Identifier: Apache-2.0
//
// What it takes to begin: finding plugins, starting the command line; and what the core weighs.
#include "core/runtime/state.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include <link.h>

namespace gantry::bench {
namespace {

constexpr double kMs = 1e6, kMb = 1e6;
// fixtures.cpp
constexpr std::size_t kManifests = 500;

int open_libraries() {
  int count = 0;
  dl_iterate_phdr([](dl_phdr_info*, std::size_t, void* n) { return ++*static_cast<int*>(n), 0; },
                  &count);
  return count;
}

// From nothing to knowing who serves a type key: every file is found and read, those that can hold the key are parsed.
Runtime discover(const RuntimeOptions& options) {
  Runtime runtime = or_fail(Runtime::create(options));
  const PluginSet& plugins = *runtime.state().plugins;
  const auto choices = plugins.choices_for_key("vendor250");
  if (plugins.found().manifests.size() != kManifests || choices.size() != 1 ||
      plugins.candidate(choices.front().candidate).manifest->id != "vendor.npu250") {
    throw Failed("discovery does not find who serves vendor250");
  }
  return runtime;
}

// What `gantry plugins list` and every error for a missing plugin need: every manifest parsed.
Runtime list_all(const RuntimeOptions& options) {
  Runtime runtime = or_fail(Runtime::create(options));
  for (const Candidate& candidate : runtime.state().plugins->candidates()) {
    if (!candidate.manifest) throw Failed(candidate.file + " has no manifest");
  }
  return runtime;
}

void add_discovery(Suite& suite) {
  RuntimeOptions options;
  options.plugin_dirs = {(suite.fixtures / "manifests").string()};
  options.only_these_plugins = true;
  options.threads = 2;
  options.log_level = "error";
  const auto add = [&](const char* name, auto work) {
    bench(name, [work](benchmark::State& state) {
      const int before = open_libraries();
      timed(state, work);
      if (open_libraries() != before) throw Failed("discovery has opened a library");
    })->UseManualTime();
  };
  RuntimeOptions none = options;
  none.plugin_dirs.clear();
  add("discovery/500", [options] { return discover(options); });
  add("discovery/500 listed", [options] { return list_all(options); });
  add("discovery/none", [none] { return or_fail(Runtime::create(none)); });
  suite.figure("discovery of 500 manifests", [](const Times& times) {
    return Row{10, times.median("discovery/500") / kMs, "ms",
               format("a runtime without any: %.3f ms", times.median("discovery/none") / kMs)};
  });
  suite.figure("listing of 500 manifests", [](const Times& times) {
    return Row{kNoLimit, times.median("discovery/500 listed") / kMs, "ms", "every one is parsed"};
  });
}

void add_command(Suite& suite, const std::string& name, double limit_ms,
                 const std::vector<std::string>& words) {
  bench("start/" + name, [words](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) run_child(words);
  })->UseRealTime();
  suite.figure("gantry " + name, [=](const Times& times) {
    return Row{limit_ms, times.median("start/" + name) / kMs, "ms",
               format("/bin/true %.2f ms", times.median("start/true") / kMs)};
  });
}

}  // namespace

void add_starts(Suite& suite) {
  add_discovery(suite);
  bench("start/true", [](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) run_child({"/bin/true"});
  })->UseRealTime();
  const std::string program = (suite.build_tree / "bin/gantry").string();
  add_command(suite, "inspect", 10,
              {program, "inspect", (suite.golden / "tvm-0.12/axpy2_llvm.so").string()});
  add_command(suite, "version", 3, {program, "version"});
}

void add_sizes(Suite& suite) {
  suite.figure("stripped core library", [tree = suite.build_tree](const Times&) {
    return Row{700,
               static_cast<double>(
                   std::filesystem::file_size(tree / "tests/bench/libgantry.stripped.so")) /
                   1e3,
               "KB", ""};
  });
  suite.figure("anonymous memory of an idle runtime", [tree = suite.build_tree](const Times&) {
    return Row{2, numbers_of({(tree / "tests/gantry_bench_memory").string(), "idle"}).at(0) / kMb,
               "MB", "the whole program's"};
  });
}

}  // namespace gantry::bench
