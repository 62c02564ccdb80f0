// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/growth.hpp"

#include "tools/conformance/process_counts.hpp"

#include <chrono>
#include <thread>

namespace gantry::kit {
namespace {

constexpr int kWarmUps = 20;
constexpr int kBatches = 3;
constexpr std::uint64_t kMaxResidentGrowth = std::uint64_t{16} << 20;
// of allocated memory; less than one small allocation in every second cycle
constexpr std::uint64_t kSteadyBytes = 16;

// Threads that have been asked to end may need a moment.
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
               std::uint64_t bytes_a_cycle) {
  const auto left = [&](std::uint64_t count, std::string_view of) {
    return bug(kCycles, " cycles of ", what, " leave ", count, " ", of);
  };
  if (after.threads > before.threads) return left(after.threads - before.threads, "threads");
  if (after.descriptors > before.descriptors)
    return left(after.descriptors - before.descriptors, "open descriptors");
  if (after.heap_bytes > before.heap_bytes + kCycles * bytes_a_cycle)
    return left(after.heap_bytes - before.heap_bytes, "bytes allocated");
  // A sanitizer keeps freed memory for a while.
  if (after.heap_bytes != 0 && after.resident_bytes > before.resident_bytes + kMaxResidentGrowth)
    return left(after.resident_bytes - before.resident_bytes, "bytes of resident memory");
  return {};
}

}  // namespace

Status check_growth(const std::function<Status()>& cycle, std::string_view what,
                    std::uint64_t bytes_a_cycle) {
  GANTRY_CHECK(run_cycles(cycle, kWarmUps));
  const ProcessCounts before = process_counts();
  GANTRY_CHECK(run_cycles(cycle, kCycles));
  return compare(before, counts_at_rest(before.threads), what, bytes_a_cycle);
}

Status check_steady_growth(const std::function<Status()>& cycle, std::string_view what) {
  GANTRY_CHECK(run_cycles(cycle, kWarmUps));
  Status last;
  for (int i = 0; i < kBatches; ++i) {
    const ProcessCounts before = process_counts();
    GANTRY_CHECK(run_cycles(cycle, kCycles));
    last = compare(before, counts_at_rest(before.threads), what, kSteadyBytes);
    if (last.ok()) break;
  }
  return last;
}

}  // namespace gantry::kit
