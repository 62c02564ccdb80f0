// SPDX-License-Identifier: Apache-2.0
//
// A status line on stderr with the work of plugins that takes long, such as compiling a kernel:
//
//     [3 s] gantry.opencl: compiling kernel "add" for opencl:0 (pthread)
//
// It appears after half a second, is updated every second, and is erased when the work ends or
// another line is written. A thread displays it, because the work occupies the one that announces
// it; the thread starts with the first work.
#pragma once

#include "tools/gantry/common/status_line.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gantry::cli {

class WorkLine {
 public:
  using Clock = std::chrono::steady_clock;

  // silence  [in]   time without output before the line appears
  explicit WorkLine(std::chrono::milliseconds silence = std::chrono::milliseconds(500));
  // Requires that all work has ended.
  ~WorkLine();
  WorkLine(const WorkLine&) = delete;
  WorkLine& operator=(const WorkLine&) = delete;

  // Begins work, or ends it if `text` is empty. The line displays the work that began first.
  //
  // thread   any
  void show(std::uint64_t work, std::string_view text);

  // Erases the line, and calls `write`, which writes other lines to stderr.
  //
  // thread   any
  void write_lines(const std::function<void()>& write);

 private:
  struct Work {
    std::uint64_t number;
    std::string text;
    Clock::time_point begun;
  };
  void begin(std::uint64_t work, std::string_view text);
  void end(std::uint64_t work);
  // Displays the work that is now the first as soon as the line may change.
  void update();
  // Displays the line until the destructor ends it.
  void run();

  const std::chrono::milliseconds silence_;
  std::mutex mutex_;
  std::condition_variable changed_;
  StatusLine line_;
  std::vector<Work> works_;
  // Since then there was work, with short pauses at most, and no other line.
  Clock::time_point silent_since_{};
  Clock::time_point ended_{};
  Clock::time_point shown_{};
  // of the next update
  Clock::time_point next_{};
  bool is_closing_ = false;
  std::thread thread_;
};

// "[3 s] text", or the text alone in the first second. Returns one line.
Message work_text(std::string_view text, std::chrono::milliseconds elapsed);

}  // namespace gantry::cli
