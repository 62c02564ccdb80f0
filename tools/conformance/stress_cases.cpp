// SPDX-License-Identifier: Apache-2.0
//
// Cases 88 and 89: a long run, and a process with few descriptors.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/process_counts.hpp"

#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace gantry::kit {
namespace {

using SoakClock = std::chrono::steady_clock;

constexpr std::uint64_t kMaxSoakGrowth = std::uint64_t{8} << 20;
// Shorter runs find defects, but do not count for the level.
constexpr double kSoakOfTheLevel = 3600;
// Beyond the open ones.
constexpr rlim_t kSpareDescriptors = 8;

// One random operation: a damaged or a golden payload.
Status soak_once(const Stage& stage, const Payload& payload, const Device& device,
                 std::mt19937_64& random) {
  std::vector<std::uint8_t> bytes = payload.bytes;
  const bool damage = !bytes.empty() && random() % 2 == 0;
  if (damage) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
  const PinnedBytes given = pinned(bytes);
  (void)stage.verdict(payload, given.bytes->bytes());
  const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
  if (damage) return {};
  if (!module.ok()) return module.error();
  return check_calls(stage, device, *module, payload);
}

// The payloads that can be called on this host, with their devices.
struct Soaked {
  const Payload* payload;
  std::shared_ptr<const Device> device;
};
Result<std::vector<Soaked>> soaked(const Stage& stage, const std::vector<Payload>& payloads) {
  std::vector<Soaked> all;
  std::optional<Failure> missing;
  for (const Payload& payload : payloads) {
    auto device = stage.device_for(payload);
    if (device.ok()) {
      all.push_back({&payload, *std::move(device)});
    } else {
      missing = std::move(device).failure();
    }
  }
  if (all.empty() && missing) return *std::move(missing);
  return all;
}

// 88
Status survives_a_soak(Subject& subject) {
  GANTRY_TRY(const std::vector<Payload>* const payloads, subject.needed_payloads());
  GANTRY_TRY(const auto stage, Stage::open(subject));
  GANTRY_TRY(const std::vector<Soaked> all, soaked(*stage, *payloads));
  const std::uint64_t seed = subject.options().seed;
  const std::chrono::duration<double> length(subject.options().soak_seconds);
  std::mt19937_64 random(seed);
  const SoakClock::time_point begun = SoakClock::now();
  ProcessCounts half;
  std::uint64_t operations = 0;
  for (bool second = false; SoakClock::now() - begun < length; ++operations) {
    if (!second && SoakClock::now() - begun > length / 2) {
      half = process_counts();
      second = true;
    }
    const auto& [payload, device] = all[random() % all.size()];
    Status done = soak_once(*stage, *payload, *device, random);
    if (!done.ok()) {
      return std::move(done).error().at("in operation ", operations, " with seed ", seed, ", of ",
                                        payload->name);
    }
  }
  const ProcessCounts end = process_counts();
  // Without a heap size, a sanitizer keeps freed memory for a while.
  if (half.threads != 0 && end.heap_bytes != 0 &&
      end.resident_bytes > half.resident_bytes + kMaxSoakGrowth)
    return bug("the second half of ", operations, " operations adds ",
               end.resident_bytes - half.resident_bytes, " bytes of resident memory");
  if (half.threads != 0 && end.descriptors > half.descriptors)
    return bug("the second half of ", operations, " operations leaves ",
               end.descriptors - half.descriptors, " open descriptors");
  if (length.count() >= kSoakOfTheLevel) return {};
  return not_run(operations, " operations in ", static_cast<std::int64_t>(length.count()),
                 " s pass; level X requires --soak ", static_cast<std::int64_t>(kSoakOfTheLevel));
}

double soak_length(const SubjectOptions& options) { return options.soak_seconds; }

// 89
Status works_with_few_descriptors(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  const rlim_t limit = process_counts().descriptors + kSpareDescriptors;
  const rlimit few{limit, limit};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return not_run("cannot limit the descriptors");
  const auto instance = Instance::create(bench->plugin(), bench->host());
  if (!instance.ok()) {
    if (instance.error().code != Code::bug) return {};
    return bug("create returns BUG: ", first_line(instance.error()));
  }
  make_failing_calls(*instance, bench->state());
  return {};
}

constexpr Case kStressCases[] = {
    {88, Level::X, Weight::must, "survives-a-soak",
     "random loads and calls for --soak seconds give golden results at flat memory",
     "free what a failed load has acquired; the seed repeats the run", survives_a_soak, "", nullptr,
     soak_length},
    {89, Level::X, Weight::must, "works-with-few-descriptors",
     "create and count with 8 spare descriptors succeed or fail with a code",
     "check the results of open() and of the driver's functions", works_with_few_descriptors, "*"},
};

}  // namespace

std::span<const Case> stress_cases() { return kStressCases; }

}  // namespace gantry::kit
