// SPDX-License-Identifier: Apache-2.0
//
// Compares gantry pack with a copy of the file that it writes. The copy has its data in the page
// cache, as have the parameters of the recipe.
#include "tests/bench/child.hpp"
#include "tests/bench/suite.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace gantry::bench {
namespace {

constexpr double kMegabyte = 1e6;
constexpr int kRounds = 3;

struct Measured {
  std::vector<double> pack, copy;
  double peak_bytes = 0;
};

Measured measure(const Suite& suite) {
  const std::string packed = suite.fixtures / "packed.so", copy = suite.fixtures / "copied.so";
  const std::vector<std::string> pack = {(suite.build_tree / "bin/gantry").string(), "pack",
                                         suite.fixtures / "big.yaml", "-o", packed};
  const std::vector<std::string> cp = {
      "/bin/sh", "-c",
      concat("cp --reflink=never '", packed, "' '", copy, "' && sync '", copy, "'")};
  Measured measured;
  run_child(pack);
  // In turn, since other load on the disk changes from second to second.
  for (int i = 0; i < kRounds; ++i) {
    for (const bool packs : {true, false}) {
      std::filesystem::remove(packs ? packed : copy);
      run_child({"/bin/sync"});
      const ChildCost cost = cost_of(packs ? pack : cp);
      (packs ? measured.pack : measured.copy).push_back(cost.seconds);
      if (packs) measured.peak_bytes = std::max(measured.peak_bytes, cost.peak_bytes);
    }
  }
  std::filesystem::remove(packed);
  std::filesystem::remove(copy);
  return measured;
}

}  // namespace

void add_packing(Suite& suite) {
  const std::string what = "packing 1 GiB of parameters";
  if (!std::filesystem::exists(suite.fixtures / "big.yaml")) {
    suite.figure(what, [](const Times&) -> Row {
      throw Failed("recipe is missing; run tests/bench/run without --small");
    });
    return;
  }
  const auto measured = std::make_shared<Measured>(measure(suite));
  suite.figure(what, [measured](const Times&) {
    const double copy = median_of(measured->copy);
    return Row{1 / 0.7, median_of(measured->pack) / copy, "times cp",
               format("cp and sync %.2f s", copy)};
  });
  suite.figure(what + ", resident memory", [measured](const Times&) {
    return Row{64, measured->peak_bytes / kMegabyte, "MB", "with the compiler"};
  });
}

}  // namespace gantry::bench
