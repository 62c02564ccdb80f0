// SPDX-License-Identifier: Apache-2.0
//
// A child process that has a file open until the end of this object.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace gantry::test {

class FileHolder {
 public:
  explicit FileHolder(const std::string& file) {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
      const bool is_open = ::open(file.c_str(), O_RDWR | O_NOCTTY) >= 0;
      if (!is_open || ::write(ready[1], "r", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    if (::read(ready[0], &byte, 1) != 1) std::abort();
    ::close(ready[0]);
  }
  ~FileHolder() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  FileHolder(const FileHolder&) = delete;
  FileHolder& operator=(const FileHolder&) = delete;

  pid_t process() const { return process_; }
  // as the kernel names it
  std::string program() const {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(process_) + "/comm"), name);
    return name;
  }

 private:
  pid_t process_;
};

}  // namespace gantry::test
