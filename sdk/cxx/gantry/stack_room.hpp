// SPDX-License-Identifier: Apache-2.0
//
// gantry/stack_room.hpp - a limit of recursion that an artifact or a caller drives, by the bytes of the thread's stack that are
// left, not by a number of calls, whose size depends on what is called.
//
//     room.enter();                                         // at the first level
//     GANTRY_CHECK(room.check("function calls"));           // at each level, before its work
#pragma once

#include <gantry/byte_count.hpp>
#include <gantry/result.hpp>

#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gantry {

// The stack of one thread at a time. Not a variable of the thread: those of libraries that are opened later end the leak checker of
// GCC 12.
class StackRoom {
 public:
  // Finds the stack of the calling thread.
  //
  // costs    system calls if the thread is another one than at the last call, and a read of /proc in the first thread, once
  void enter() noexcept {
    const pthread_t self = ::pthread_self();
    if (is_known_ && ::pthread_equal(self, thread_) != 0) return;
    thread_ = self;
    is_known_ = true;
    stack_ = stack_of_this_thread();
  }

  // Refuses a level of recursion for which the stack has no room.
  //
  // what     [in]   what recurses, in the plural, for the error
  // returns  EXHAUSTED  less than a quarter of the stack is left (STACK); the rest is for what the level calls: compiled code, a
  //                     driver, the text of an error
  //          OK         also on a stack that is not the thread's, as that of a fiber, and if it was not found: the caller's limit
  //                     of levels decides there
  // thread   that of enter()
  // costs    some instructions
  Status check(std::string_view what) const {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    // Elsewhere it wraps around, or exceeds the size.
    const std::uintptr_t left = here - stack_.first;
    if (left >= stack_.bytes / 4) [[likely]]
      return {};
    return refuse(what, left);
  }

 private:
  [[gnu::cold]] [[gnu::noinline]] Status refuse(std::string_view what, std::size_t left) const {
    return exhausted(what, " leave ", ByteCount(left), " of the thread's stack of ",
                     ByteCount(stack_.bytes),
                     ", the minimum is a quarter; use a thread with a larger ",
                     "stack, or raise the limit of the first thread's (ulimit -s)")
        .with_reason("STACK");
  }

  struct Stack {
    // The end at which it is full.
    std::uintptr_t first = 0;
    std::size_t bytes = 0;
  };
  static Stack find_stack() noexcept {
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {};
    void* first = nullptr;
    std::size_t bytes = 0;
    const bool known = ::pthread_attr_getstack(&attributes, &first, &bytes) == 0;
    ::pthread_attr_destroy(&attributes);
    if (!known) return {};
    return {reinterpret_cast<std::uintptr_t>(first), bytes};
  }
  // That of the first thread is read from /proc, once.
  static Stack stack_of_this_thread() noexcept {
    if (::gettid() != ::getpid()) return find_stack();
    static const Stack of_first_thread = find_stack();
    return of_first_thread;
  }

  pthread_t thread_{};
  bool is_known_ = false;
  Stack stack_;
};

}  // namespace gantry
