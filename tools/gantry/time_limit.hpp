// SPDX-License-Identifier: Apache-2.0
//
// --timeout: the time that a command may take.
//
//     0                  --timeout              2 s later
//     |------------------|----------------------|
//     load, runs         the task is cancelled  a line names the code that has not returned, and the
//                                               process ends with kTimedOut
#pragma once

#include "tools/gantry/command.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <chrono>
#include <memory>

namespace gantry::cli {

// Adds --timeout.
//
// seconds  [out]  0: not given
CLI::Option* add_timeout(CLI::App& command, int& seconds);

// The limit is in force in the scope of the object.
class TimeLimit {
 public:
  // seconds  [in]   0: no limit
  // thread   the main thread, which makes the calls
  static Result<TimeLimit> start(int seconds);
  TimeLimit(TimeLimit&&) noexcept;
  TimeLimit& operator=(TimeLimit&&) = delete;
  ~TimeLimit();

  // Of all runs and calls of the command; empty: no limit.
  const Task& task() const { return task_; }
  // Returns the environment of a call on a device.
  gantry_env env(gantry_device_id device) const;
  bool has_passed() const;
  // Returns the error with the reason DEADLINE and the option if the limit has cancelled a call.
  Error explained(Error error) const;

 private:
  class Watch;
  TimeLimit();

  int seconds_ = 0;
  std::chrono::steady_clock::time_point end_;
  Task task_;
  // NULL: no limit
  std::unique_ptr<Watch> watch_;
};

}  // namespace gantry::cli
