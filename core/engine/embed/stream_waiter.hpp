// SPDX-License-Identifier: Apache-2.0
//
// Notifications of a stream whose device has no stream_notify: a thread waits for the work.
#pragma once

#include "core/engine/embed/stream.hpp"

#include <gantry/result.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace gantry {

// Returns an event that is recorded in a stream now; NULL: the device has no events. The caller
// destroys it.
//
// stream   [in]   NULL: the default one
Result<void*> recorded_event(const Device& device, std::int32_t index, void* stream);

// The thread of one stream. It begins with the first notification, and ends after the waiter's
// owner has gone, without being joined: a notification may release the last reference to the stream
// on this thread.
class StreamWaiter : public std::enable_shared_from_this<StreamWaiter> {
 public:
  StreamWaiter() = default;
  StreamWaiter(const StreamWaiter&) = delete;
  StreamWaiter& operator=(const StreamWaiter&) = delete;

  // Calls notify(argument) once, after the work that is in the stream now, also if that fails. Keeps
  // the stream until then.
  //
  // returns  the errors of the device's events; exhausted: no thread. notify is not called then
  Status add(Ref<StreamObject> stream, void (*notify)(void* argument), void* argument);
  // The thread ends after the notifications that were added.
  void end();

 private:
  struct Notification {
    Ref<StreamObject> stream;
    // recorded; NULL: the device has no events
    void* event;
    void (*notify)(void* argument);
    void* argument;
  };
  static void deliver(Notification notification);
  void run();

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Notification> queue_;
  bool has_thread_ = false;
  bool ends_ = false;
};

}  // namespace gantry
