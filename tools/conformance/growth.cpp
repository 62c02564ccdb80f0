// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/growth.hpp"

#include "tools/conformance/case.hpp"
#include "tools/conformance/process_counts.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace gantry::kit {
namespace {

constexpr int kWarmUps = 20;
constexpr int kMaxCycles = 200, kMinCycles = 20;
// of the time of a case
constexpr double kMaxShare = 0.5;
constexpr std::uint64_t kMaxResidentGrowth = std::uint64_t{16} << 20;

// A thread that ends may need a moment.
ProcessCounts counts_at_rest(std::size_t threads) {
  ProcessCounts counts = process_counts();
  for (int i = 0; i < 20 && counts.threads > threads; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    counts = process_counts();
  }
  return counts;
}

Status run_cycles(const std::function<Status()>& cycle, int count) {
  for (int i = 0; i < count; ++i) GANTRY_CHECK(cycle());
  return {};
}

Status compare(const ProcessCounts& before, const ProcessCounts& after, std::string_view what,
               const GrowthLimits& limits) {
  const auto left = [&](std::uint64_t count, std::string_view of) {
    return bug(limits.cycles, " cycles of ", what, " leave ", count, " ", of);
  };
  if (after.threads > before.threads) return left(after.threads - before.threads, "threads");
  if (after.descriptors > before.descriptors)
    return left(after.descriptors - before.descriptors, "open descriptors");
  const std::uint64_t most = static_cast<std::uint64_t>(limits.cycles) * limits.bytes_a_cycle;
  if (after.heap_bytes > before.heap_bytes + most)
    return left(after.heap_bytes - before.heap_bytes, "bytes allocated");
  // A sanitizer keeps freed memory for a while.
  if (after.heap_bytes != 0 && after.resident_bytes > before.resident_bytes + kMaxResidentGrowth)
    return left(after.resident_bytes - before.resident_bytes, "bytes of resident memory");
  return {};
}

}  // namespace

Status check_growth(const std::function<Status()>& cycle, std::string_view what,
                    const GrowthLimits& limits) {
  GANTRY_CHECK(run_cycles(cycle, kWarmUps));
  Status last;
  for (int i = 0; i < limits.batches; ++i) {
    const ProcessCounts before = process_counts();
    GANTRY_CHECK(run_cycles(cycle, limits.cycles));
    last = compare(before, counts_at_rest(before.threads), what, limits);
    if (last.ok()) break;
  }
  return last;
}

Result<int> cycles_within(double seconds, int batches, const std::function<Status()>& cycle) {
  using Clock = std::chrono::steady_clock;
  GANTRY_CHECK(cycle());
  const Clock::time_point begun = Clock::now();
  GANTRY_CHECK(cycle());
  const double one = std::chrono::duration<double>(Clock::now() - begun).count();
  const double most = (seconds * kMaxShare / std::max(one, 1e-6) - kWarmUps) / batches;
  if (most >= kMaxCycles) return kMaxCycles;
  if (most >= kMinCycles) return static_cast<int>(most);
  const double needed = one * (kWarmUps + batches * kMinCycles) / kMaxShare;
  return not_run("the calls take ", static_cast<std::int64_t>(one * 1000), " ms; --timeout ",
                 static_cast<std::int64_t>(needed) + 1, " is enough for ", kMinCycles, " cycles");
}

}  // namespace gantry::kit
