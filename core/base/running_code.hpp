// SPDX-License-Identifier: Apache-2.0
//
// Which plugin or artifact this thread runs, and which of its functions was called: for lines about
// crashes, time limits and exit().
//
//     the stack   ── OwnedRange ──▶  plugin acme.npu 1.0.0
//     CallRecord  ─────────────────▶  in load_binary
//
// The stack is read when the line is written. Calls of functions of modules are therefore not
// recorded, as they are many; a call that is recorded costs a few instructions.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gantry {

// A call of code of others by this thread, in the scope of the object.
class CallRecord {
 public:
  enum class Owner : std::uint8_t { plugin, artifact };
  // of a plugin or an artifact
  //
  // function [in]   "load_binary"
  // name     [in]   id of the plugin, name of the artifact; empty: nothing is recorded
  // lifetime both are valid as long as the object
  CallRecord(std::string_view function, std::string_view name, Owner owner = Owner::plugin) noexcept
      : function_(function), name_(name), owner_(owner) {
    if (!name.empty()) begin();
  }
  // of a program: a line about another thread without a record contains it, too
  //
  // function [in]   "function \"axpy2\""
  explicit CallRecord(std::string_view function) noexcept;
  ~CallRecord() {
    if (is_open_) end();
  }
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  std::string_view function() const { return function_; }
  // empty for a call of the program
  std::string_view name() const { return name_; }
  Owner owner() const { return owner_; }

  // The innermost one of this thread, else that of the program; NULL: there is none.
  // Async-signal-safe.
  static const CallRecord* current() noexcept;

 private:
  void begin() noexcept;
  void end() noexcept;

  const std::string_view function_, name_;
  const Owner owner_ = Owner::plugin;
  const CallRecord* outer_ = nullptr;
  bool is_open_ = false, is_of_program_ = false;
};

// The stack of a thread that a signal has interrupted.
struct StackOfSignal {
  // of the handler
  const void* context = nullptr;
  // False: only the interrupted instruction and the recorded calls are used, because reading the
  // frames has failed.
  bool is_readable = true;
  // False: the recorded calls, which are on the stack, are not used either.
  bool has_calls = true;
  // The thread has called an address without code, so that the stack has no frame of it.
  bool has_no_code = false;

  // Returns the address of the interrupted instruction.
  std::uintptr_t instruction() const noexcept;
};

struct RunningCodeWords {
  // "crashes"
  std::string_view verb;
  // between the verb and the call: "in"
  std::string_view preposition;
  // where neither a plugin nor an artifact is found: "internal error"
  std::string_view otherwise;
};

// A line that is assembled without allocations. Async-signal-safe.
class SignalLine {
 public:
  SignalLine& add(std::string_view text) noexcept;
  SignalLine& add_number(std::uint64_t number) noexcept;
  // 0x1f40
  SignalLine& add_address(std::uintptr_t address) noexcept;
  // Adds what the thread runs, and the call: "plugin acme.npu 1.0.0 crashes in load_binary".
  SignalLine& add_running_code(const RunningCodeWords& words, const StackOfSignal& stack) noexcept;
  // Adds where the innermost function of a plugin is in its library, as addr2line takes it:
  // " at 0x1f40 of its library". Nothing if there is none.
  SignalLine& add_place_in_library(const StackOfSignal& stack) noexcept;
  // Writes it with a line break.
  //
  // descriptor [in]  standard error, or one for reports
  void write(int descriptor = STDERR_FILENO) noexcept;

 private:
  char text_[1024];
  std::size_t size_ = 0;
};

// Returns the id of the innermost plugin among the callers; empty if there is none.
//
// id       [out]  at least max_range_title bytes
std::string_view plugin_on_this_stack(char* id) noexcept;

}  // namespace gantry
