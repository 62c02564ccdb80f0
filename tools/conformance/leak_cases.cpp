// SPDX-License-Identifier: Apache-2.0
//
// Cases 124 to 126: what calls and streams leave in the process, and on its standard output.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/counting_host.hpp"
#include "tools/conformance/device_stream.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/growth.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/quoted.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace gantry::kit {
namespace {

constexpr int kBatches = 3;
// Less than one small allocation in every second cycle.
constexpr std::uint64_t kCpuBytes = 16;
// OpenCL drivers of CPUs leave up to half of it for some events, and for some launches.
constexpr std::uint64_t kDriverBytes = 64;
constexpr int kCountedCycles = 20;

// Objects that the calls leave are counted by themselves, because the counter takes memory.
Status check_objects(Stage& stage, const std::function<Status()>& cycle) {
  const CountingHost counted(stage.host_table());
  // Caches of the plugin may keep what the first calls have made.
  for (int i = 0; i < 2; ++i) GANTRY_CHECK(cycle());
  const auto before = counted.alive();
  for (int i = 0; i < kCountedCycles; ++i) GANTRY_CHECK(cycle());
  for (const auto& [function, count] : counted.alive()) {
    const auto at = before.find(function);
    const std::int64_t left = count - (at == before.end() ? 0 : at->second);
    if (left >= kCountedCycles)
      return bug(kCountedCycles, " cycles of the golden calls leave ", left,
                 " objects that gantry_host.", function, " has created");
  }
  return {};
}

// Cycles load nothing: the module and its functions exist.
Status check_calls_leave_nothing(Stage& stage, const Payload& payload, double seconds) {
  if (payload.calls.empty()) return skipped("the payload has no calls");
  GANTRY_TRY(const auto device, stage.device_for(payload));
  GANTRY_CHECK(check_golden(stage, *device, payload));
  const PinnedBytes given = pinned(payload.bytes);
  GANTRY_TRY(const LoadedModule module, stage.load(payload, given.bytes->bytes(), given.pin.get()));
  const auto call_all = [&] { return check_calls(stage, *device, module, payload); };
  GANTRY_TRY(const int cycles, cycles_within(seconds, kBatches + 1, call_all));
  GANTRY_CHECK(check_objects(stage, call_all));
  const bool has_driver = device->type != cpu_device_type;
  return check_growth(call_all, "the golden calls",
                      {.cycles = cycles,
                       .bytes_a_cycle = has_driver ? kDriverBytes : kCpuBytes,
                       .batches = kBatches});
}

// 124
Status calls_leave_nothing(Subject& subject) {
  const double seconds = subject.options().case_seconds;
  return for_each_payload(subject, [=](Stage& stage, const Payload& payload) {
    return check_calls_leave_nothing(stage, payload, seconds);
  });
}

// The file in memory that is standard output in the scope of the object.
class CapturedOutput {
 public:
  CapturedOutput()
      : before_(::dup(STDOUT_FILENO)), memory_(::memfd_create("gantry-conformance", MFD_CLOEXEC)) {
    std::fflush(stdout);
    ::dup2(memory_.get(), STDOUT_FILENO);
  }
  ~CapturedOutput() {
    std::fflush(stdout);
    ::dup2(before_.get(), STDOUT_FILENO);
  }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  bool is_captured() const { return before_ && memory_; }
  // The first bytes so far.
  std::string text() const {
    std::fflush(stdout);
    std::array<char, 200> bytes{};
    const ssize_t size = ::pread(memory_.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(size > 0 ? size : 0)};
  }

 private:
  const Descriptor before_, memory_;
};

// 125
Status prints_nothing(Subject& subject) {
  const CapturedOutput output;
  if (!output.is_captured()) return not_run("no descriptor is left for standard output");
  const auto check = [&](std::string_view what) -> Status {
    const std::string text = output.text();
    if (text.empty()) return {};
    return bug(what, " prints ", quoted(text, 80), " on standard output, which is the program's");
  };
  GANTRY_TRY(const auto stage, Stage::open(subject));
  GANTRY_CHECK(check("opening and creating the plugin"));
  for (const gantry_device_table& device : stage->plugin().devices) {
    std::int32_t count = 0;
    const PluginCall record("count");
    device.count(stage->self(), &count, nullptr);
  }
  GANTRY_CHECK(check("counting devices"));
  for (const Payload& payload : subject.payloads()) {
    const auto device = stage->device_for(payload);
    const PinnedBytes given = pinned(payload.bytes);
    const auto module = stage->load(payload, given.bytes->bytes(), given.pin.get());
    GANTRY_CHECK(check(concat("load_binary of ", payload.name)));
    // A call that fails is a matter of case 51.
    if (device.ok() && module.ok()) (void)check_calls(*stage, **device, *module, payload);
    GANTRY_CHECK(check(concat("a call of ", payload.name)));
  }
  return {};
}

Status use_stream(const TestedDevice& device, const DeviceMemory& from, const DeviceMemory& to,
                  std::uint64_t size) {
  const DeviceStream stream(device);
  const auto event = DeviceEvent::make(device);
  GANTRY_CHECK(device.copy(from.at(), to.at(), size, stream.get(), 0));
  if (event.ok()) GANTRY_CHECK((*event)->record(stream.get()));
  return device.synchronize(stream.get());
}

// 126
Status streams_leave_nothing(Subject& subject) {
  return for_each_device(subject, [](const TestedDevice& device) -> Status {
    constexpr std::uint64_t size = 64;
    {
      const DeviceStream stream(device);
      if (stream.get() == nullptr && !has_events(device))
        return skipped("device ", device.name(), " has no streams and no events");
    }
    GANTRY_TRY(const DeviceMemory from, DeviceMemory::make(device, size));
    GANTRY_TRY(const DeviceMemory to, DeviceMemory::make(device, size));
    return check_growth([&] { return use_stream(device, from, to, size); },
                        concat("a stream and an event of device ", device.name()),
                        {.bytes_a_cycle = kDriverBytes, .batches = kBatches});
  });
}

constexpr Case kLeakCases[] = {
    {124, Level::D, Weight::must, "calls-leave-nothing",
     "golden calls leave no object of the host, thread, descriptor or memory",
     "release what a call acquires, also what the host creates for it: gantry_release()",
     calls_leave_nothing},
    {125, Level::D, Weight::must, "prints-nothing",
     "create, count, loads and calls print nothing on standard output", "log with gantry_host.log",
     prints_nothing},
    {126, Level::D, Weight::must, "streams-leave-nothing",
     "streams and events that are used and destroyed leave no thread, descriptor or memory",
     "release in stream_destroy and event_destroy what their create functions acquire",
     streams_leave_nothing},
};

}  // namespace

std::span<const Case> leak_cases() { return kLeakCases; }

}  // namespace gantry::kit
