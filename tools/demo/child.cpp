// SPDX-License-Identifier: Apache-2.0
#include "tools/demo/child.hpp"

#include <gantry/descriptor.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

namespace gantry::demo {
namespace {

// Calls visit() with each part of a row.
template <class Row, class Visit>
void for_each_part(Row& row, Visit visit) {
  visit(row.device.name);
  visit(row.device.product);
  visit(row.device.missing);
  visit(row.guesses);
  visit(row.outputs);
}

// The messages of a child to this program, through a pipe: 'r' and a row, 'd' when it is done, 'e' and
// the text of an error.
class PipeWriter {
 public:
  explicit PipeWriter(int descriptor) : descriptor_(descriptor) {}

  void row(const Recognised& row) {
    bytes("r", 1);
    for_each_part(row, [&](const auto& part) { value(part); });
    send();
  }
  void done() {
    bytes("d", 1);
    send();
  }
  void error(const std::string& text) {
    bytes("e", 1);
    value(text);
    send();
  }

 private:
  template <class List>
  void value(const List& list) {
    const std::size_t count = list.size();
    bytes(&count, sizeof count);
    bytes(list.data(), count * sizeof list[0]);
  }
  void bytes(const void* from, std::size_t count) {
    const auto* first = static_cast<const std::uint8_t*>(from);
    message_.insert(message_.end(), first, first + count);
  }
  void send() {
    if (write_all(descriptor_, message_) != 0) _exit(1);
    message_.clear();
  }

  int descriptor_;
  std::vector<std::uint8_t> message_;
};

// The process that writes is this program, so its counts are not checked.
class PipeReader {
 public:
  explicit PipeReader(int descriptor) : descriptor_(descriptor) {}

  // returns  nullopt: the pipe ends
  std::optional<char> tag() {
    char found = 0;
    return bytes(&found, 1) ? std::optional(found) : std::nullopt;
  }
  bool row(Recognised& row) {
    bool whole = true;
    for_each_part(row, [&](auto& part) { whole = whole && value(part); });
    return whole;
  }
  template <class List>
  bool value(List& list) {
    std::size_t count = 0;
    if (!bytes(&count, sizeof count)) return false;
    list.resize(count);
    return bytes(list.data(), count * sizeof list[0]);
  }

 private:
  bool bytes(void* to, std::size_t count) {
    auto* next = static_cast<char*>(to);
    while (count > 0) {
      const ssize_t found = ::read(descriptor_, next, count);
      if (found < 0 && errno == EINTR) continue;
      if (found <= 0) return false;
      next += found;
      count -= static_cast<std::size_t>(found);
    }
    return true;
  }

  int descriptor_;
};

std::string end_text(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return concat("its driver has ended the process by signal ", signal, " (", ::strsignal(signal),
                  ")");
  }
  return concat("its driver has ended the process with status ", WEXITSTATUS(status));
}

}  // namespace

Result<std::vector<Recognised>> in_child(
    const std::string& kind,
    const std::function<Status(const std::function<void(const Recognised&)>& add)>& work) {
  int ends[2];
  // What is buffered would be printed by both processes.
  std::fflush(nullptr);
  if (::pipe(ends) != 0) return unavailable("cannot create a pipe: ", std::strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return unavailable("cannot start a process: ", std::strerror(errno));
  if (child == 0) {
    PipeWriter writer(writing.get());
    const Status done = work([&](const Recognised& row) { writer.row(row); });
    done.ok() ? writer.done() : writer.error(done.error().message);
    // Without the destructors of drivers, which may fail as well.
    _exit(0);
  }
  writing.close();

  std::vector<Recognised> rows;
  std::string error;
  bool is_complete = false;
  PipeReader reader(reading.get());
  while (const auto tag = reader.tag()) {
    Recognised row;
    if (*tag == 'r' && reader.row(row)) {
      rows.push_back(std::move(row));
    } else if (*tag == 'd') {
      is_complete = true;
    } else if (*tag == 'e') {
      is_complete = reader.value(error);
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!error.empty()) return unavailable(Message::lines(error));
  if (!is_complete) rows.emplace_back().device = {kind, {}, end_text(status)};
  return rows;
}

}  // namespace gantry::demo
