// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/stream_waiter.hpp"

#include "core/base/signals_blocked.hpp"
#include "core/engine/tensor/device_set.hpp"

#include <system_error>
#include <thread>
#include <utility>

namespace gantry {

Result<void*> recorded_event(const Device& device, std::int32_t index, void* stream) {
  void* event = nullptr;
  Status done = call_table(device, index, "event_create", [&](gantry_status* out) {
    return device.table->event_create(device.self, index, GANTRY_EVENT_UNTIMED, &event, out);
  });
  if (!done.ok() && done.error().code == Code::unsupported) return nullptr;
  GANTRY_CHECK(std::move(done));
  done = call_table(device, index, "event_record", [&](gantry_status* out) {
    return device.table->event_record(device.self, index, event, stream, out);
  });
  if (done.ok()) return event;
  device.table->event_destroy(device.self, index, event);
  return std::move(done).failure();
}

Status StreamWaiter::add(Ref<StreamObject> stream, void (*notify)(void* argument), void* argument) {
  const std::shared_ptr<const Device>& device = *stream->state->devices.find(stream->device.type);
  GANTRY_TRY(void* const event, recorded_event(*device, stream->device.index, stream->handle));
  Notification added{std::move(stream), event, notify, argument};
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(added));
  if (!has_thread_) {
    const SignalsBlocked blocked;
    try {
      std::thread([self = shared_from_this()] { self->run(); }).detach();
      has_thread_ = true;
    } catch (const std::system_error& thrown) {
      if (event != nullptr)
        device->table->event_destroy(device->self, queue_.back().stream->device.index, event);
      queue_.pop_back();
      return exhausted("stream_notify: no thread that waits: ", thrown.what());
    }
  }
  more_.notify_one();
  return {};
}

void StreamWaiter::end() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  more_.notify_one();
}

// A failure of the work, or of the wait, is reported by synchronize.
void StreamWaiter::deliver(Notification notification) {
  const StreamObject& stream = *notification.stream;
  const Device& device = **stream.state->devices.find(stream.device.type);
  const std::int32_t index = stream.device.index;
  const gantry_device_table& table = *device.table;
  if (notification.event != nullptr && table.event_reached != nullptr) {
    (void)call_table(device, index, "event_reached", [&](gantry_status* out) {
      std::int32_t reached = 0;
      return table.event_reached(device.self, index, notification.event, GANTRY_NO_TIMEOUT,
                                 &reached, out);
    });
  } else {
    // The failures belong to the caller of synchronize, who has not called it.
    (void)call_table(device, index, "synchronize", [&](gantry_status* out) {
      return table.synchronize(device.self, index, stream.handle, out);
    });
  }
  if (notification.event != nullptr && may_call(device))
    table.event_destroy(device.self, index, notification.event);
  // After the call, this thread has nothing of the runtime: the program may end, or unload a device.
  notification.stream = {};
  notification.notify(notification.argument);
}

void StreamWaiter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return !queue_.empty() || ends_; });
    if (queue_.empty()) return;
    Notification next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    deliver(std::move(next));
    lock.lock();
  }
}

}  // namespace gantry
