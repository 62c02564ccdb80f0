// SPDX-License-Identifier: Apache-2.0
//
// Case 113: a device that a call of the payload file makes stop.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/device_stream.hpp"
#include "tools/conformance/golden_call.hpp"

#include <gantry/quoted.hpp>

namespace gantry::kit {
namespace {

// What exists before the loss, released afterwards, which a lost device accepts.
class BeforeTheLoss {
 public:
  static Result<std::unique_ptr<BeforeTheLoss>> make(const TestedDevice& device) {
    GANTRY_TRY(DeviceMemory memory, DeviceMemory::make(device, 64));
    std::unique_ptr<BeforeTheLoss> made(new BeforeTheLoss(device, std::move(memory)));
    if (auto event = DeviceEvent::make(device); event.ok()) made->event_ = *std::move(event);
    return made;
  }

  // Each call that releases nothing fails as LOST, any number of times.
  Status check_calls() const {
    std::uint8_t bytes[8] = {};
    for (int i = 0; i < 2; ++i) {
      GANTRY_CHECK(is_lost("alloc", device_.alloc(64)));
      GANTRY_CHECK(is_lost("copy", device_.copy(in_host(bytes), memory_.at(), sizeof bytes)));
      GANTRY_CHECK(is_lost("synchronize", device_.synchronize()));
      if (stream_.get() == nullptr) continue;
      GANTRY_CHECK(is_lost("synchronize", device_.synchronize(stream_.get())));
      GANTRY_CHECK(is_lost("stream_create", created_stream()));
    }
    return {};
  }

 private:
  BeforeTheLoss(const TestedDevice& device, DeviceMemory memory)
      : device_(device), memory_(std::move(memory)), stream_(device) {}

  template <class T>
  Status is_lost(std::string_view function, const Result<T>& called) const {
    if (!called.ok() && called.error().code == Code::lost) return {};
    return bug(function, " of device ", device_.name(), " returns ",
               called.ok() ? "ok" : name_of(called.error().code),
               " after the loss of the device, expected lost");
  }
  Status created_stream() const {
    return device_("stream_create", [&](const auto& t, void* s, gantry_status* failure) {
      void* made = nullptr;
      const gantry_code code = t.stream_create(s, 0, 0, &made, failure);
      if (code == GANTRY_OK) t.stream_destroy(s, 0, made);
      return code;
    });
  }

  const TestedDevice& device_;
  DeviceMemory memory_;
  DeviceStream stream_;
  std::unique_ptr<DeviceEvent> event_;
};

// Makes the call that loses the device, and waits for it.
Status lose(const Stage& stage, const Device& device, const LoadedModule& module,
            const GoldenCall& call) {
  GANTRY_TRY(const LoadedFunction function, stage.function(module, call.function));
  GANTRY_TRY(const auto arguments, CallArguments::make(device, call));
  const CallOutcome outcome =
      call_function(device, function.pair, arguments->values, {.name = call.function});
  if (outcome.code == GANTRY_LOST) return {};
  return bug("function ", quoted(call.function), " and synchronize return ",
             name_of(static_cast<Code>(outcome.code)), ", expected lost");
}

// The device whose functions the payload has; of a loader without one, the plugin's first.
Result<std::shared_ptr<const Device>> lost_device(const Stage& stage, const Payload& payload) {
  GANTRY_TRY(auto device, stage.device_for(payload));
  if (device->type != kCpu || stage.plugin().devices.empty()) return device;
  return stage.state().device(stage.plugin().devices.front().name);
}

// 113
Status reports_loss(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    if (!payload.loses) return skipped("the payload has no call in `loses`");
    GANTRY_TRY(const auto runs_on, stage.device_for(payload));
    GANTRY_TRY(const auto lost, lost_device(stage, payload));
    std::int32_t count = 0;
    if (lost->table->count(lost->self, &count, nullptr) != GANTRY_OK || count == 0)
      return not_run("no device of the plugin is on this host");
    const TestedDevice device(*lost, count);
    GANTRY_CHECK(check_golden(stage, *runs_on, payload));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    GANTRY_TRY(const auto before, BeforeTheLoss::make(device));
    // Work on the host, such as that of a test, reports the loss with the next call of the device.
    if (runs_on == lost) {
      GANTRY_CHECK(lose(stage, *runs_on, module, *payload.loses));
    } else {
      GANTRY_TRY(const LoadedFunction function, stage.function(module, payload.loses->function));
      GANTRY_TRY(const auto arguments, CallArguments::make(*runs_on, *payload.loses));
      (void)call_function(*runs_on, function.pair, arguments->values,
                          {.name = payload.loses->function});
    }
    return before->check_calls();
  });
}

constexpr Case kLossCases[] = {
    {113, Level::D, Weight::must, "reports-loss",
     "after the call in `loses`, synchronize and all later calls for the device are LOST; what "
     "exists can be released",
     "keep the first LOST of a device and return it from every later call, as gantry::DeviceLoss "
     "does",
     reports_loss},
};

}  // namespace

std::span<const Case> loss_cases() { return kLossCases; }

}  // namespace gantry::kit
