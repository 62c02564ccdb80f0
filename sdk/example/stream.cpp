// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include <gantry/abi_boundary.hpp>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace abacus {

gantry::Failure wrong_capture(std::string_view text) {
  return gantry::invalid("abacus: ", text).with_reason("CAPTURE");
}

void Mark::reach() {
  const std::lock_guard lock(mutex_);
  at_ = Clock::now();
  reached_.notify_all();
}

Mark::Clock::time_point Mark::wait() const {
  std::unique_lock lock(mutex_);
  reached_.wait(lock, [&] { return at_.has_value(); });
  return *at_;
}

bool Mark::wait_for(std::int64_t timeout_ns) const {
  // A century and a half, which the clock can add.
  const std::chrono::nanoseconds timeout(std::min(timeout_ns, INT64_MAX / 2));
  std::unique_lock lock(mutex_);
  return reached_.wait_for(lock, timeout, [&] { return at_.has_value(); });
}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_all();
  if (worker_.joinable()) worker_.join();
}

// The thread blocks all signals: they are the application's.
gantry::Status Stream::start_worker() {
  if (worker_.joinable()) return {};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  gantry::Status started;
  try {
    worker_ = std::thread([this] { work(); });
  } catch (const std::system_error& thrown) {
    started = gantry::exhausted("abacus: no thread for a stream: ", thrown.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

gantry::Status Stream::push(Work work) {
  const std::lock_guard lock(mutex_);
  if (capture_ != nullptr) {
    capture_->push_back(std::move(work));
    return {};
  }
  GANTRY_CHECK(start_worker());
  queue_.push_back(std::move(work));
  more_.notify_one();
  return {};
}

gantry::Status Stream::push_all(const Recording& recording) {
  const std::lock_guard lock(mutex_);
  if (capture_ != nullptr)
    return wrong_capture("a graph is launched in a stream that is being captured");
  GANTRY_CHECK(start_worker());
  queue_.insert(queue_.end(), recording.begin(), recording.end());
  more_.notify_one();
  return {};
}

gantry::Status Stream::wait() {
  std::unique_lock lock(mutex_);
  if (capture_ != nullptr)
    return wrong_capture("a stream that is being captured cannot be waited for");
  idle_.wait(lock, [&] { return queue_.empty() && !busy_; });
  return std::exchange(failed_, gantry::Status());
}

gantry::Status Stream::begin_capture() {
  const std::lock_guard lock(mutex_);
  if (capture_ != nullptr) return wrong_capture("the stream is being captured already");
  capture_ = std::make_unique<Recording>();
  return {};
}

gantry::Result<std::unique_ptr<Recording>> Stream::end_capture() {
  const std::lock_guard lock(mutex_);
  if (capture_ == nullptr) return wrong_capture("the stream is not being captured");
  return std::move(capture_);
}

bool Stream::is_captured() const {
  const std::lock_guard lock(mutex_);
  return capture_ != nullptr;
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return !queue_.empty() || ends_; });
    if (queue_.empty()) return;
    Work next = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    gantry::Status done = gantry::guard(next);
    // Releases the memory that it held.
    next = nullptr;
    lock.lock();
    busy_ = false;
    if (!done.ok() && failed_.ok()) failed_ = std::move(done);
    if (queue_.empty()) idle_.notify_all();
  }
}

}  // namespace abacus
