// SPDX-License-Identifier: Apache-2.0
//
// Runs code on a thread that is cancelled.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

namespace gantry::test {

// Starts a thread that runs `body` and cancels it after 20 ms.
//
// returns  result of the thread: PTHREAD_CANCELED if it was unwound
inline void* cancelled(const std::function<void()>& body) {
  struct Shared {
    const std::function<void()>& body;
    std::atomic<bool> begun{false};
  } shared{body};
  pthread_t thread{};
  pthread_create(
      &thread, nullptr,
      [](void* data) -> void* {
        auto& here = *static_cast<Shared*>(data);
        here.begun = true;
        here.body();
        return nullptr;
      },
      &shared);
  while (!shared.begun) std::this_thread::yield();
  usleep(20 * 1000);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  return result;
}

}  // namespace gantry::test
