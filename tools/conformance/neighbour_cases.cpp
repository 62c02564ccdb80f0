// SPDX-License-Identifier: Apache-2.0
//
// Case 86: other plugins in the same process.
#include "tools/conformance/case_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/golden_call.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gantry::kit {
namespace {

// Another plugin, created in a runtime of its own.
class Neighbour {
 public:
  // returns  not_run() if it cannot be created here
  static Result<Neighbour> open(const std::string& manifest) {
    SubjectOptions options;
    options.manifest = manifest;
    auto subject = Subject::open(std::move(options));
    if (!subject.ok()) return not_run("--beside ", manifest, ": ", first_line(subject.error()));
    auto bench = Bench::open(*subject);
    if (!bench.ok()) return not_run("--beside ", manifest, ": ", first_line(bench.error()));
    auto instance = Instance::create((*bench)->plugin(), (*bench)->host());
    if (!instance.ok()) return not_run("--beside ", manifest, ": ", first_line(instance.error()));
    return Neighbour(*std::move(bench), *std::move(instance));
  }

  // The count of each device; -1: it fails.
  std::vector<std::int32_t> counts() const {
    std::vector<std::int32_t> all;
    for (const gantry_device_table& device : bench_->plugin().devices) {
      std::int32_t count = 0;
      if (device.count(instance_.self(), &count, nullptr) != GANTRY_OK) count = -1;
      all.push_back(count);
    }
    return all;
  }

 private:
  Neighbour(std::unique_ptr<Bench> bench, Instance instance)
      : bench_(std::move(bench)), instance_(std::move(instance)) {}
  // destroyed after the instance
  std::unique_ptr<Bench> bench_;
  Instance instance_;
};

// The counts that a forked child leaves for the next one.
class CountsOfChild {
 public:
  static Result<CountsOfChild> create() {
    void* const at =
        ::mmap(nullptr, max_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return skipped("cannot share memory");
    return CountsOfChild(static_cast<std::int32_t*>(at));
  }
  // counts   [in]   those that do not fit are left out
  void set(std::vector<std::int32_t> counts) {
    counts.resize(std::min(counts.size(), max_bytes / sizeof(std::int32_t) - 1));
    shared_.get()[0] = static_cast<std::int32_t>(counts.size());
    std::ranges::copy(counts, shared_.get() + 1);
  }
  std::vector<std::int32_t> get() const {
    return {shared_.get() + 1, shared_.get() + 1 + shared_.get()[0]};
  }

 private:
  static constexpr std::size_t max_bytes = 4096;
  explicit CountsOfChild(std::int32_t* shared) : shared_(shared) {}
  struct Unmap {
    void operator()(std::int32_t* shared) const { ::munmap(shared, max_bytes); }
  };
  std::unique_ptr<std::int32_t, Unmap> shared_;
};

// Makes the golden calls, before and after `between` while the plugin is in use.
Status use_plugin(Subject& subject, const std::function<Status()>& between) {
  if (subject.payloads().empty()) {
    GANTRY_TRY(const auto bench, Bench::open(subject));
    GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
    make_failing_calls(instance);
    GANTRY_CHECK(between());
    make_failing_calls(instance);
    return {};
  }
  return for_each_payload(subject, [&](Stage& stage, const Payload& payload) -> Status {
    GANTRY_TRY(const auto device, stage.device_for(payload));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    GANTRY_CHECK(check_calls(stage, *device, module, payload));
    GANTRY_CHECK(between());
    return check_calls(stage, *device, module, payload);
  });
}

Status check_counts(const Neighbour& neighbour, const std::vector<std::int32_t>& before,
                    const std::string& manifest) {
  if (neighbour.counts() == before) return {};
  return bug("the devices of ", manifest, " are counted otherwise when the plugin is in use");
}

Status check_beside(Subject& subject, const std::string& manifest) {
  GANTRY_TRY(CountsOfChild alone, CountsOfChild::create());
  Status after =
      check_in_child(concat("a process that opens ", manifest, " first"), [&]() -> Status {
        GANTRY_TRY(const Neighbour neighbour, Neighbour::open(manifest));
        alone.set(neighbour.counts());
        return use_plugin(subject, [&] { return check_counts(neighbour, alone.get(), manifest); });
      });
  if (!after.ok()) return std::move(after).error().at("after ", manifest, " is opened");
  Status before =
      check_in_child(concat("a process that opens ", manifest, " later"), [&]() -> Status {
        return use_plugin(subject, [&]() -> Status {
          GANTRY_TRY(const Neighbour neighbour, Neighbour::open(manifest));
          return check_counts(neighbour, alone.get(), manifest);
        });
      });
  if (!before.ok()) return std::move(before).error().at("before ", manifest, " is opened");
  return {};
}

// 86
Status works_beside_others(Subject& subject) {
  const std::vector<std::string>& others = subject.options().beside;
  if (others.empty()) return not_run("no other plugin: pass --beside MANIFEST");
  const Status alone = check_in_child("a process with this plugin only",
                                      [&] { return use_plugin(subject, [] { return Status(); }); });
  if (!alone.ok() && alone.error().reason == not_run_reason) return alone;
  if (!alone.ok()) return not_run("the plugin fails alone, see cases 30 and 51");
  for (const std::string& manifest : others) GANTRY_CHECK(check_beside(subject, manifest));
  return {};
}

constexpr Case kNeighbourCases[] = {
    {86, Level::X, Weight::must, "works-beside-others",
     "golden calls give the expected results after and before each plugin of --beside is opened",
     "export no symbols, link libraries statically or privately, and change no state of the "
     "process",
     works_beside_others},
};

}  // namespace

std::span<const Case> neighbour_cases() { return kNeighbourCases; }

}  // namespace gantry::kit
