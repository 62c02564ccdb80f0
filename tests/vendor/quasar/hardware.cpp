// SPDX-License-Identifier: Apache-2.0
#include "hardware.hpp"

#include <gantry/abi_boundary.hpp>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace quasar {

// ---- memory

std::byte* Block::bytes() const { return memory_.bytes_.get() + offset; }
Block::~Block() { memory_.give_back(*this); }

Memory::Memory(std::uint64_t capacity)
    : capacity_(capacity),
      bytes_(static_cast<std::byte*>(std::aligned_alloc(4096, capacity)), &std::free) {
  if (bytes_ == nullptr) throw std::bad_alloc();
}

BlockPtr Memory::take(std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t need = round_up(std::max<std::uint64_t>(size, 1), granule);
  alignment = std::max(alignment, granule);
  const std::lock_guard lock(mutex_);
  const auto [first, last] = kept_.equal_range(need);
  const auto kept =
      std::find_if(first, last, [&](const auto& range) { return range.second % alignment == 0; });
  if (kept != last) {
    const std::uint64_t offset = kept->second;
    kept_.erase(kept);
    kept_bytes_ -= need;
    return std::make_shared<Block>(*this, offset, need);
  }
  std::uint64_t at = 0;
  for (const auto& [offset, reserved] : ranges_) {
    if (at <= offset && need <= offset - at) break;
    at = round_up(offset + reserved, alignment);
  }
  if (at > capacity_ || need > capacity_ - at) return nullptr;
  ranges_.emplace(at, need);
  reserved_ += need;
  return std::make_shared<Block>(*this, at, need);
}

void Memory::give_back(const Block& block) {
  const std::lock_guard lock(mutex_);
  if (block.reserved <= capacity_ / 4 - std::min(kept_bytes_, capacity_ / 4)) {
    kept_.emplace(block.reserved, block.offset);
    kept_bytes_ += block.reserved;
    return;
  }
  ranges_.erase(block.offset);
  reserved_ -= block.reserved;
}

void Memory::trim() {
  const std::lock_guard lock(mutex_);
  for (const auto& [reserved, offset] : kept_) ranges_.erase(offset);
  reserved_ -= std::exchange(kept_bytes_, 0);
  kept_.clear();
}

std::uint64_t Memory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return capacity_ - (reserved_ - kept_bytes_);
}

// ---- fences

void Fence::signal() {
  const std::lock_guard lock(mutex_);
  at_ = Clock::now();
  signalled_.notify_all();
}

Fence::Clock::time_point Fence::wait() const {
  std::unique_lock lock(mutex_);
  signalled_.wait(lock, [&] { return at_.has_value(); });
  return *at_;
}

bool Fence::wait_for(std::int64_t timeout_ns) const {
  // A century and a half, which the clock can add.
  const std::chrono::nanoseconds timeout(std::min(timeout_ns, INT64_MAX / 2));
  std::unique_lock lock(mutex_);
  return signalled_.wait_for(lock, timeout, [&] { return at_.has_value(); });
}

// ---- rings

Ring::~Ring() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_all();
  if (thread_.joinable()) thread_.join();
}

gantry::Status Ring::push(std::shared_ptr<Queue> queue, std::span<const Command> commands) {
  const std::lock_guard lock(mutex_);
  GANTRY_CHECK(start());
  for (const Command& command : commands) entries_.push_back({queue, command});
  more_.notify_one();
  return {};
}

// The thread blocks all signals: they are the application's.
gantry::Status Ring::start() {
  if (thread_.joinable()) return {};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  gantry::Status started;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& thrown) {
    started = gantry::exhausted("quasar: no thread for a command queue: ", thrown.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

gantry::Status Ring::execute(Command command) const {
  if (!command.is_always_executed) GANTRY_CHECK(loss_.check());
  return gantry::guard(command.work);
}

void Ring::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return !entries_.empty() || ends_; });
    if (entries_.empty()) return;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    lock.unlock();
    // The command releases its memory before a wait for it returns.
    gantry::Status done = execute(std::move(entry.command));
    entry.queue->completed(std::move(done));
    entry.queue.reset();
    lock.lock();
  }
}

// ---- queues

gantry::Status Queue::push(Command command) {
  const std::lock_guard lock(mutex_);
  if (recording_ != nullptr) {
    recording_->push_back(std::move(command));
    return {};
  }
  GANTRY_CHECK(ring_.push(shared_from_this(), {&command, 1}));
  ++submitted_;
  return {};
}

gantry::Status Queue::launch(const Recording& recording) {
  const std::lock_guard lock(mutex_);
  if (recording_ != nullptr) return refuse_recorded("a launch of a graph");
  GANTRY_CHECK(ring_.push(shared_from_this(), recording));
  submitted_ += recording.size();
  return {};
}

gantry::Status Queue::wait() {
  std::unique_lock lock(mutex_);
  if (recording_ != nullptr) return refuse_recorded("a wait");
  progress_.wait(lock, [&, last = submitted_] { return completed_ >= last; });
  return std::exchange(failed_, gantry::Status());
}

void Queue::completed(gantry::Status done) {
  const std::lock_guard lock(mutex_);
  ++completed_;
  if (!done.ok() && failed_.ok()) failed_ = std::move(done);
  progress_.notify_all();
}

gantry::Status Queue::begin_recording() {
  const std::lock_guard lock(mutex_);
  if (recording_ != nullptr) return refuse_recorded("a capture");
  recording_ = std::make_unique<Recording>();
  return {};
}

gantry::Result<std::unique_ptr<Recording>> Queue::end_recording() {
  const std::lock_guard lock(mutex_);
  if (recording_ == nullptr)
    return gantry::invalid("quasar: the stream is not being captured").with_reason("CAPTURE");
  return std::move(recording_);
}

gantry::Status Queue::check_not_recorded(std::string_view what) const {
  const std::lock_guard lock(mutex_);
  return recording_ != nullptr ? refuse_recorded(what) : gantry::Status();
}

gantry::Status Queue::refuse_recorded(std::string_view what) const {
  return gantry::invalid("quasar: ", what, " in a stream that is being captured")
      .with_reason("CAPTURE");
}

}  // namespace quasar
