// SPDX-License-Identifier: Apache-2.0
//
// Streams: work in order, done by a thread of its own behind the back of whoever enqueues it.
//
//     push(work) ──► queue ──► worker            wait(): until it is empty; tells what failed since the last time
//     begin_capture() ... end_capture()          what is pushed between is kept instead, to be pushed as a whole
#pragma once

#include <gantry/result.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace abacus {

// One thing to do. It holds the memory it works with.
using Work = std::function<gantry::Status()>;
using Recording = std::vector<Work>;

// A point in a stream that others wait for.
class Mark {
 public:
  using Clock = std::chrono::steady_clock;
  void reach();
  // when it was reached
  Clock::time_point wait() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable reached_;
  std::optional<Clock::time_point> at_;
};

class Stream {
 public:
  Stream() = default;
  // Does what is left first.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // returns  EXHAUSTED  no thread for the first work
  gantry::Status push(Work work);
  gantry::Status push_all(const Recording& recording);
  // returns  INVALID    the stream is being captured; else the first error since the last wait
  gantry::Status wait();

  // returns  INVALID    it is being captured already, or is not
  gantry::Status begin_capture();
  gantry::Result<std::unique_ptr<Recording>> end_capture();
  bool is_captured() const;

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
