// SPDX-License-Identifier: Apache-2.0
//
// Case 86: other plugins in the same process.
#include "tools/conformance/case_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/golden_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>

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

// Makes the golden calls, before and after `between` while the plugin is in use.
Status use_plugin(Subject& subject, const std::function<Status()>& between) {
  if (subject.payloads().empty()) {
    GANTRY_TRY(const auto bench, Bench::open(subject));
    GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
    make_failing_calls(instance, bench->state());
    GANTRY_CHECK(between());
    make_failing_calls(instance, bench->state());
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

// "1 -1 0"
std::string text_of(const std::vector<std::int32_t>& counts) { return join(counts, " "); }

Status check_counts(const Neighbour& neighbour, std::string_view before,
                    const std::string& manifest) {
  if (text_of(neighbour.counts()) == before) return {};
  return bug("the devices of ", manifest, " are counted otherwise when the plugin is in use");
}

constexpr std::string_view kAlone = "alone";
// of the manifest that follows
constexpr std::string_view kFirst = "first ";
// of the counts and, after a line break, the manifest that follow
constexpr std::string_view kLater = "later ";
static_assert(kLater.size() == kFirst.size());

// In another process: uses the plugin alone, after another one, whose counts are the answer, or
// before it.
std::string use_beside(Subject& subject, const std::string& part) {
  std::string counts;
  const std::string_view rest = std::string_view(part).substr(std::min(part.size(), kFirst.size()));
  const auto use = [&]() -> Status {
    if (part == kAlone) return use_plugin(subject, [] { return Status(); });
    if (part.starts_with(kFirst)) {
      const std::string manifest(rest);
      GANTRY_TRY(const Neighbour neighbour, Neighbour::open(manifest));
      counts = text_of(neighbour.counts());
      return use_plugin(subject, [&] { return check_counts(neighbour, counts, manifest); });
    }
    const std::size_t line_end = rest.find('\n');
    const std::string manifest(rest.substr(line_end + 1));
    return use_plugin(subject, [&]() -> Status {
      GANTRY_TRY(const Neighbour neighbour, Neighbour::open(manifest));
      return check_counts(neighbour, rest.substr(0, line_end), manifest);
    });
  };
  const Status done = guard(use);
  return status_report(done, counts);
}

Status check_beside(const Subject& subject, const std::string& manifest) {
  auto counts = check_part(subject, 86, concat(kFirst, manifest),
                           concat("a process that opens ", manifest, " first"));
  if (!counts.ok()) return std::move(counts).error().at("after ", manifest, " is opened");
  auto before = check_part(subject, 86, concat(kLater, *counts, '\n', manifest),
                           concat("a process that opens ", manifest, " later"));
  if (!before.ok()) return std::move(before).error().at("before ", manifest, " is opened");
  return {};
}

// 86
Status works_beside_others(Subject& subject) {
  const std::vector<std::string>& others = subject.options().beside;
  if (others.empty()) return not_run("no other plugin: pass --beside MANIFEST");
  const auto alone = check_part(subject, 86, kAlone, "a process with this plugin only");
  if (!alone.ok() && alone.error().reason == not_run_reason) return alone.error();
  if (!alone.ok()) return not_run("the plugin fails alone, see cases 30 and 51");
  for (const std::string& manifest : others) GANTRY_CHECK(check_beside(subject, manifest));
  return {};
}

constexpr Case kNeighbourCases[] = {
    {86, Level::X, Weight::must, "works-beside-others",
     "golden calls give the expected results after and before each plugin of --beside is opened",
     "export no symbols, link libraries statically or privately, and change no state of the "
     "process",
     works_beside_others, "", use_beside},
};

}  // namespace

std::span<const Case> neighbour_cases() { return kNeighbourCases; }

}  // namespace gantry::kit
