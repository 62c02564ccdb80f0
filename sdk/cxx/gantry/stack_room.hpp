// SPDX-License-Identifier: Apache-2.0
//
// gantry/stack_room.hpp - a limit of recursion that an artifact or a caller drives, by the bytes of the thread's stack that are
// left, not by a number of calls, whose size depends on what is called.
//
//     GANTRY_CHECK(check_stack_room("function calls"));     // at each level, before its work
#pragma once

#include <gantry/byte_count.hpp>
#include <gantry/result.hpp>

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gantry {

// The stack of the calling thread, from the end at which it is full. Empty if it cannot be found (no /proc on the main thread).
struct ThreadStack {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;
};

// costs    a system call or a read of /proc once for each thread
inline const ThreadStack& thread_stack() noexcept {
  static thread_local const ThreadStack found = []() -> ThreadStack {
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {};
    void* first = nullptr;
    std::size_t bytes = 0;
    const bool known = ::pthread_attr_getstack(&attributes, &first, &bytes) == 0;
    ::pthread_attr_destroy(&attributes);
    if (!known) return {};
    return {reinterpret_cast<std::uintptr_t>(first), bytes};
  }();
  return found;
}

// The share of a stack that a level of recursion leaves for what it calls: compiled code, a driver, the text of an error.
constexpr std::size_t stack_reserve_divisor = 4;

namespace detail {

[[gnu::cold]] [[gnu::noinline]] inline Status no_stack_room(std::string_view what, std::size_t left,
                                                            std::size_t bytes) {
  return exhausted(what, " leave ", ByteCount(left), " of the thread's stack of ", ByteCount(bytes),
                   ", the minimum is a quarter; use a thread with a larger stack, or raise the ",
                   "limit of the first thread's (ulimit -s)")
      .with_reason("STACK");
}

}  // namespace detail

// Refuses a level of recursion for which the stack has no room.
//
// what     [in]   what recurses, in the plural, for the error
// returns  EXHAUSTED  less than a quarter of the thread's stack is left (STACK); the rest is for what the level calls: compiled
//                     code, a driver, the text of an error
//          OK         also on a stack that is not the thread's, as that of a fiber: the caller's limit of levels decides there
// costs    some instructions
inline Status check_stack_room(std::string_view what) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const ThreadStack& stack = thread_stack();
  // Elsewhere it wraps around, or exceeds the size.
  const std::uintptr_t left = here - stack.first;
  if (left >= stack.bytes / 4) [[likely]]
    return {};
  return detail::no_stack_room(what, left, stack.bytes);
}

}  // namespace gantry
