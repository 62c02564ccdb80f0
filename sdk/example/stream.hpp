// SPDX-License-Identifier: Apache-2.0
//
// Streams: work in order, done by a thread of the stream.
//
//     push(work) --> queue --> worker      wait(): until it is empty; returns what failed since the
//                                          last time
//     begin_capture() ... end_capture()    what is pushed between is kept instead, to be pushed as
//                                          a whole
#pragma once

#include <gantry/result.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace abacus {

// One piece of work. It holds the memory that it uses.
using Work = std::function<gantry::Status()>;
using Recording = std::vector<Work>;

// A point in a stream, for which others wait.
class Mark {
 public:
  using Clock = std::chrono::steady_clock;
  void reach();
  // Returns when it was reached.
  Clock::time_point wait() const;
  // Waits for a time. Returns whether it is reached.
  bool wait_for(std::int64_t timeout_ns) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable reached_;
  std::optional<Clock::time_point> at_;
};

// The last mark that was recorded for it; NULL: none yet.
class Event {
 public:
  // timed    [in]   false: it only orders streams
  explicit Event(bool timed) : is_timed(timed) {}
  const bool is_timed;

  void set(std::shared_ptr<Mark> mark) {
    const std::lock_guard lock(mutex_);
    mark_ = std::move(mark);
  }
  std::shared_ptr<Mark> mark() const {
    const std::lock_guard lock(mutex_);
    return mark_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> mark_;
};

// returns  INVALID  the text names a call that a captured stream rejects, or the reverse (CAPTURE)
gantry::Failure wrong_capture(std::string_view text);

class Stream {
 public:
  // given    [in]   name of its track in a trace
  explicit Stream(std::string given) : name(std::move(given)) {}
  // Does the work that is left first.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // returns  EXHAUSTED  no thread for the first work
  gantry::Status push(Work work);
  gantry::Status push_all(const Recording& recording);
  // returns  INVALID    the stream is being captured
  //          others     the first error since the last wait
  gantry::Status wait();

  // returns  INVALID    begin: it is being captured already; end: it is not
  gantry::Status begin_capture();
  gantry::Result<std::unique_ptr<Recording>> end_capture();
  bool is_captured() const;

  const std::string name;

 private:
  gantry::Status start_worker();
  void work();

  mutable std::mutex mutex_;
  std::condition_variable more_, idle_;
  std::deque<Work> queue_;
  bool busy_ = false;
  bool ends_ = false;
  gantry::Status failed_;
  std::unique_ptr<Recording> capture_;
  std::thread worker_;
};

}  // namespace abacus
