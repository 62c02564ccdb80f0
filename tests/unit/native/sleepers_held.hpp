// SPDX-License-Identifier: Apache-2.0
//
// Holds the threads that begin to sleep on a WaitableCounter, so that a test decides when they
// wake.
#pragma once

namespace gantry::test {

// While one exists, every other thread that begins such a sleep is held, whoever wakes it. Held
// threads continue when the object is destroyed, or after ten seconds.
class SleepersHeld {
 public:
  SleepersHeld();
  ~SleepersHeld();
  SleepersHeld(const SleepersHeld&) = delete;
  SleepersHeld& operator=(const SleepersHeld&) = delete;

  // Waits until this many threads are held.
  static void wait_for(int threads);
};

}  // namespace gantry::test
