// SPDX-License-Identifier: Apache-2.0
//
// Cases 107 to 110 and 127: handles of the driver, events, notifications and times.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/device_stream.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace gantry::kit {
namespace {

constexpr std::size_t kSize = 1 << 20;
constexpr std::int64_t kLongNs = 10'000'000'000;
// A limit that no clock can add to its time.
constexpr std::int64_t kLongestNs = GANTRY_NO_TIMEOUT - 1;
constexpr std::int32_t kUnknownKind = 99;

// Copies a pattern to the device and back in a stream, without waiting.
struct RoundTrip {
  std::vector<std::uint8_t> from, to;
  Status enqueue(const TestedDevice& device, const DeviceMemory& memory, void* stream,
                 std::uint64_t seed) {
    from = bytes_with_pattern(kSize, seed);
    to.assign(kSize, 0);
    GANTRY_CHECK(device.copy(in_host(from.data()), memory.at(), kSize, stream, 0));
    return device.copy(memory.at(), in_host(to.data()), kSize, stream, 0);
  }
};

// ---- 107

Result<void*> native(const TestedDevice& device, std::int32_t kind, void* object) {
  void* handle = nullptr;
  GANTRY_CHECK(device("native_get", [&](const auto& t, void* s, gantry_status* failure) {
    return t.native_get(s, 0, kind, object, &handle, failure);
  }));
  return handle;
}

// The handle of an object is the same each time and not NULL, or is UNSUPPORTED: NULL.
Result<void*> stable_handle(const TestedDevice& device, std::int32_t kind, void* object) {
  const auto first = native(device, kind, object);
  if (!first.ok() && first.error().code == Code::unsupported) return nullptr;
  GANTRY_TRY(void* const handle, first);
  GANTRY_TRY(const void* const again, native(device, kind, object));
  if (handle != nullptr && handle == again) return handle;
  return bug("native_get of device ", device.name(), " returns ",
             handle == nullptr ? "NULL" : "another handle for the same object", " for kind ", kind);
}

Status check_imported_stream(const TestedDevice& device, void* handle, const DeviceMemory& memory) {
  void* imported = nullptr;
  GANTRY_CHECK(device("stream_import", [&](const auto& t, void* s, gantry_status* failure) {
    return t.stream_import(s, 0, handle, &imported, failure);
  }));
  RoundTrip trip;
  Status done = trip.enqueue(device, memory, imported, 1);
  if (done.ok()) done = device.synchronize(imported);
  device.table().stream_destroy(device.self(), 0, imported);
  GANTRY_CHECK(std::move(done));
  if (trip.from == trip.to) return {};
  return bug("copies in a stream that device ", device.name(), " imports give other bytes");
}

Status check_native_handles(const TestedDevice& device) {
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, kSize));
  GANTRY_TRY(const DeviceMemory other, DeviceMemory::make(device, kSize));
  const DeviceStream stream(device);
  void* handle = nullptr;
  if (device.table().native_get != nullptr) {
    GANTRY_CHECK(stable_handle(device, GANTRY_NATIVE_CONTEXT, nullptr));
    GANTRY_TRY(const void* const one,
               stable_handle(device, GANTRY_NATIVE_MEMORY, memory.at().data));
    GANTRY_TRY(const void* const two, stable_handle(device, GANTRY_NATIVE_MEMORY, other.at().data));
    if (one != nullptr && one == two)
      return bug("native_get of device ", device.name(), " returns one handle for two allocations");
    GANTRY_TRY(handle, stable_handle(device, GANTRY_NATIVE_STREAM, stream.get()));
    const auto unknown = native(device, kUnknownKind, nullptr);
    if (unknown.ok() || unknown.error().code != Code::unsupported) {
      return bug("native_get of device ", device.name(), " returns ",
                 unknown.ok() ? "ok" : name_of(unknown.error().code), " for the unknown kind ",
                 kUnknownKind, ", expected unsupported");
    }
  }
  if (device.table().stream_import == nullptr || handle == nullptr) return {};
  GANTRY_CHECK(check_imported_stream(device, handle, memory));
  // stream_destroy has left it to its owner.
  RoundTrip trip;
  GANTRY_CHECK(trip.enqueue(device, memory, stream.get(), 2));
  GANTRY_CHECK(device.synchronize(stream.get()));
  if (trip.from == trip.to) return {};
  return bug("copies in a stream of device ", device.name(),
             " give other bytes after another stream over its handle is destroyed");
}

// Runs a check for the devices that have a function.
Status for_each_with(Subject& subject, std::string_view function,
                     bool (*has)(const TestedDevice& device),
                     Status (*check)(const TestedDevice& device)) {
  bool any = false;
  GANTRY_CHECK(for_each_device(subject, [&](const TestedDevice& device) -> Status {
    if (!has(device)) return {};
    any = true;
    return check(device);
  }));
  return any ? Status() : skipped("no device of the plugin has ", function);
}

Status native_handles(Subject& subject) {
  return for_each_with(
      subject, "native_get or stream_import",
      [](const TestedDevice& device) {
        return device.table().native_get != nullptr || device.table().stream_import != nullptr;
      },
      check_native_handles);
}

// ---- 108

Result<bool> is_reached(const TestedDevice& device, const DeviceEvent& event,
                        std::int64_t timeout_ns) {
  std::int32_t reached = 2;
  GANTRY_CHECK(device("event_reached", [&](const auto& t, void* s, gantry_status* failure) {
    return t.event_reached(s, 0, event.get(), timeout_ns, &reached, failure);
  }));
  if (reached == 0 || reached == 1) return reached == 1;
  return bug("event_reached of device ", device.name(), " writes ", reached, ", expected 0 or 1");
}

Status check_reached_events(const TestedDevice& device) {
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, kSize));
  const DeviceStream stream(device);
  for (const std::uint32_t flags : {0u, std::uint32_t{GANTRY_EVENT_UNTIMED}}) {
    GANTRY_TRY(const auto event, DeviceEvent::make(device, flags));
    // An event is recorded again: it is reached after the later work.
    for (const std::int64_t timeout : {GANTRY_NO_TIMEOUT, kLongNs, kLongestNs}) {
      RoundTrip trip;
      GANTRY_CHECK(trip.enqueue(device, memory, stream.get(), 3));
      GANTRY_CHECK(event->record(stream.get()));
      // 0 does not wait; either answer is right.
      GANTRY_CHECK(is_reached(device, *event, 0));
      GANTRY_TRY(const bool reached, is_reached(device, *event, timeout));
      const bool is_complete = trip.from == trip.to;
      GANTRY_CHECK(device.synchronize(stream.get()));
      if (!reached)
        return bug("event_reached of device ", device.name(), " returns 0 ",
                   timeout == GANTRY_NO_TIMEOUT ? std::string("without a limit")
                                                : concat("within ", timeout, " ns"));
      if (!is_complete)
        return bug("an event of device ", device.name(),
                   " is reached before the work in front of it");
      GANTRY_TRY(const bool still, is_reached(device, *event, 0));
      if (!still)
        return bug("an event of device ", device.name(), " that was reached is not any more");
    }
  }
  return {};
}

Status reaches_events(Subject& subject) {
  return for_each_with(
      subject, "event_reached",
      [](const TestedDevice& device) { return device.table().event_reached != nullptr; },
      check_reached_events);
}

// ---- 109

Status check_untimed_events(const TestedDevice& device) {
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, kSize));
  const DeviceStream first(device), second(device);
  GANTRY_TRY(const auto event, DeviceEvent::make(device, GANTRY_EVENT_UNTIMED));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::uint8_t> from = bytes_with_pattern(kSize, seed);
    std::vector<std::uint8_t> to(kSize);
    GANTRY_CHECK(device.copy(in_host(from.data()), memory.at(), kSize, first.get(), 0));
    GANTRY_CHECK(event->record(first.get()));
    GANTRY_CHECK(event->wait_in(second.get()));
    GANTRY_CHECK(device.copy(memory.at(), in_host(to.data()), kSize, second.get(), 0));
    GANTRY_CHECK(device.synchronize(second.get()));
    if (from != to)
      return bug("an untimed event of device ", device.name(), " does not order two streams");
  }
  const auto elapsed = event->elapsed_since(*event);
  const bool refused = !elapsed.ok() && (elapsed.error().code == Code::invalid ||
                                         elapsed.error().code == Code::unsupported);
  if (!refused) {
    return bug("event_elapsed of untimed events of device ", device.name(), " returns ",
               elapsed.ok() ? "ok" : name_of(elapsed.error().code), ", expected invalid");
  }
  const auto unknown = DeviceEvent::make(device, 0x80000000);
  if (!unknown.ok() && unknown.error().code == Code::unsupported) return {};
  return bug("event_create of device ", device.name(), " returns ",
             unknown.ok() ? "ok" : name_of(unknown.error().code),
             " for an unknown flag, expected unsupported");
}

Status orders_untimed(Subject& subject) {
  return for_each_with(subject, "events", has_events, check_untimed_events);
}

// ---- 127

// Device time is not compared with the host's: a simulator's may be any.
Status check_elapsed(const TestedDevice& device, std::uint64_t seed) {
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, kSize));
  const DeviceStream stream(device);
  GANTRY_TRY(const auto first, DeviceEvent::make(device));
  GANTRY_TRY(const auto second, DeviceEvent::make(device));
  GANTRY_TRY(const auto third, DeviceEvent::make(device));
  RoundTrip trip, other;
  GANTRY_CHECK(first->record(stream.get()));
  GANTRY_CHECK(trip.enqueue(device, memory, stream.get(), seed));
  GANTRY_CHECK(second->record(stream.get()));
  GANTRY_CHECK(other.enqueue(device, memory, stream.get(), seed + 1));
  GANTRY_CHECK(third->record(stream.get()));
  GANTRY_CHECK(device.synchronize(stream.get()));
  const auto part = second->elapsed_since(*first);
  if (!part.ok() && part.error().code == Code::unsupported)
    return skipped("device ", device.name(), " has no clock");
  if (!part.ok()) return part.error();
  GANTRY_TRY(const std::int64_t whole, third->elapsed_since(*first));
  const auto between = [&](std::int64_t ns) {
    return concat("event_elapsed of device ", device.name(), " is ", ns,
                  " ns between two events in order");
  };
  if (*part < 0) return bug(between(*part), ", minimum is 0");
  if (whole < *part)
    return bug(between(whole), ", and ", *part, " ns between the first and one between them");
  return {};
}

Status measures_time(Subject& subject) {
  return for_each_with(subject, "events", has_events, [](const TestedDevice& device) -> Status {
    for (std::uint64_t seed = 0; seed < 10; ++seed) GANTRY_CHECK(check_elapsed(device, seed));
    return {};
  });
}

// ---- 110

// What a notification sees. It outlives late calls.
struct Notified {
  RoundTrip trip;
  std::atomic<int> calls{0};
  std::atomic<bool> early{false};

  static void notify(void* self) {
    auto* const notified = static_cast<Notified*>(self);
    if (notified->trip.from != notified->trip.to) notified->early = true;
    ++notified->calls;
  }
  // Returns the number of calls, 10 s at the latest after the first is expected.
  int wait() const {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(kLongNs);
    while (calls == 0 && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return calls;
  }
};

Status check_notifications(const TestedDevice& device) {
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, kSize));
  for (const bool is_destroyed : {false, true}) {
    DeviceStream stream(device);
    // Not freed: a plugin that notifies twice may do so later.
    auto* const notified = new Notified;
    GANTRY_CHECK(notified->trip.enqueue(device, memory, stream.get(), 4));
    GANTRY_CHECK(device("stream_notify", [&](const auto& t, void* s, gantry_status* failure) {
      return t.stream_notify(s, 0, stream.get(), Notified::notify, notified, failure);
    }));
    if (is_destroyed) {
      stream.destroy();
    } else {
      GANTRY_CHECK(device.synchronize(stream.get()));
    }
    const int calls = notified->wait();
    const std::string_view when = is_destroyed ? " after the stream is destroyed" : "";
    if (calls != 1) {
      return bug("stream_notify of device ", device.name(), " calls ", calls, " times", when,
                 ", expected once");
    }
    if (notified->early)
      return bug("stream_notify of device ", device.name(), " calls before the work", when);
    delete notified;
  }
  return {};
}

Status notifies_once(Subject& subject) {
  return for_each_with(
      subject, "stream_notify",
      [](const TestedDevice& device) { return device.table().stream_notify != nullptr; },
      check_notifications);
}

constexpr Case kCompletionCases[] = {
    {107, Level::D, Weight::must, "native-handles",
     "native_get returns one handle for each object; a stream over the handle of another one "
     "works, "
     "and leaves it when it is destroyed; unknown kinds are UNSUPPORTED",
     "return the driver's handle, and do not destroy what stream_import received", native_handles},
    {108, Level::D, Weight::must, "reaches-events",
     "event_reached returns 1 after the work in front of the event, and not before",
     "wait up to the timeout, without a limit for GANTRY_NO_TIMEOUT", reaches_events},
    {109, Level::D, Weight::must, "orders-untimed",
     "untimed events order two streams; event_elapsed of them is INVALID, unknown flags of "
     "event_create are UNSUPPORTED",
     "keep the flag with the event", orders_untimed},
    {110, Level::D, Weight::must, "notifies-once",
     "stream_notify calls once after the work in the stream, also if the stream is destroyed "
     "before",
     "keep the notification until the driver has called it", notifies_once},
    {127, Level::D, Weight::must, "measures-time",
     "event_elapsed of events in order is not negative, and grows with the work",
     "subtract the start from the stop in the driver's unit, and convert to nanoseconds; without a "
     "clock, leave event_elapsed NULL",
     measures_time},
};

}  // namespace

std::span<const Case> completion_cases() { return kCompletionCases; }

}  // namespace gantry::kit
