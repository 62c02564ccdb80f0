// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/work_line.hpp"

#include <algorithm>

namespace gantry::cli {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A program may compile many kernels one after the other.
constexpr milliseconds longest_pause{100};
constexpr milliseconds shortest_display{100};

}  // namespace

WorkLine::WorkLine(milliseconds silence) : silence_(silence), line_(false) {}

WorkLine::~WorkLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WorkLine::show(std::uint64_t work, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (text.empty()) {
    end(work);
  } else {
    begin(work, text);
  }
}

void WorkLine::begin(std::uint64_t work, std::string_view text) {
  const auto now = Clock::now();
  if (works_.empty() && now - ended_ > longest_pause) silent_since_ = now;
  works_.push_back({work, std::string(text), now});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  if (works_.size() == 1) update();
}

void WorkLine::end(std::uint64_t work) {
  std::erase_if(works_, [&](const Work& each) { return each.number == work; });
  if (!works_.empty()) return update();
  ended_ = Clock::now();
  line_.erase();
}

void WorkLine::update() {
  next_ = std::max(silent_since_ + silence_, shown_ + shortest_display);
  changed_.notify_one();
}

void WorkLine::write_lines(const std::function<void()>& write) {
  const std::lock_guard lock(mutex_);
  line_.erase();
  write();
  silent_since_ = Clock::now();
  next_ = silent_since_ + silence_;
}

void WorkLine::run() {
  std::unique_lock lock(mutex_);
  while (!is_closing_) {
    if (works_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto now = Clock::now();
    if (now < next_) {
      changed_.wait_until(lock, next_);
      continue;
    }
    const Work& work = works_.front();
    line_.show(work_text(work.text, duration_cast<milliseconds>(now - work.begun)));
    shown_ = now;
    next_ = now + seconds(1);
  }
}

Message work_text(std::string_view text, milliseconds elapsed) {
  const auto count = duration_cast<seconds>(elapsed).count();
  return count == 0 ? Message(text) : Message("[", count, " s] ", text);
}

}  // namespace gantry::cli
