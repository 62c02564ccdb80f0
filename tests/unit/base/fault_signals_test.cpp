// SPDX-License-Identifier: Apache-2.0
#include "core/base/fault_signals.hpp"

#include <gantry/note.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

namespace gantry {
namespace {

void write_text(std::string_view text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

void write_signal(const Fault& fault) {
  write_text(fault.signal == SIGSEGV  ? "SIGSEGV"
             : fault.signal == SIGBUS ? "SIGBUS"
             : fault.signal == SIGILL ? "SIGILL"
             : fault.signal == SIGFPE ? "SIGFPE"
                                      : "unknown");
  for (int i = 0; i < fault.attempt; ++i) write_text(" again");
  write_text("\n");
}

void access_nothing() { *reinterpret_cast<volatile int*>(0x10) = 1; }

int use_stack(int depth) {
  volatile char frame[4096];
  frame[0] = 1;
  return depth == 0 ? 0 : use_stack(depth - 1) + frame[0];
}

class FaultSignals : public ::testing::Test {
 protected:
  FaultSignals() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void SetUp() override {
    if constexpr (GANTRY_SANITIZER != GANTRY_SANITIZER_NONE)
      GTEST_SKIP() << "a sanitizer handles these signals itself";
  }
};

TEST_F(FaultSignals, AreReportedAndEndTheProcess) {
  for (const int number : fault_signals) {
    EXPECT_EXIT(
        {
          handle_faults(fault_signals, write_signal);
          std::raise(number);
        },
        testing::KilledBySignal(number), "^SIG[A-Z]+\n$");
  }
  EXPECT_EXIT(
      {
        handle_faults(fault_signals, write_signal);
        access_nothing();
      },
      testing::KilledBySignal(SIGSEGV), "^SIGSEGV\n$");
}

TEST_F(FaultSignals, AreReportedWithoutRoomOnTheStack) {
  EXPECT_EXIT(
      {
        handle_faults(fault_signals, write_signal);
        _exit(use_stack(1 << 30));
      },
      testing::KilledBySignal(SIGSEGV), "^SIGSEGV\n$");
}

// The first fault ends the process, whatever its report does.
TEST_F(FaultSignals, AreReportedAgainIfTheReportFails) {
  constexpr auto report = [](const Fault& fault) {
    write_signal(fault);
    access_nothing();
  };
  EXPECT_EXIT(
      {
        handle_faults(fault_signals, report);
        std::raise(SIGFPE);
      },
      testing::KilledBySignal(SIGFPE), "^SIGFPE\nSIGFPE again\nSIGFPE again again\n$");
}

TEST_F(FaultSignals, AreReportedOnAThreadThatBlocksAllSignals) {
  EXPECT_EXIT(
      {
        handle_faults(fault_signals, write_signal);
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        const FaultStack stack;
        access_nothing();
      },
      testing::KilledBySignal(SIGSEGV), "^SIGSEGV\n$");
}

TEST(FaultStack, HasNoEffectIfFaultsAreNotHandled) {
  stack_t before{}, within{};
  sigaltstack(nullptr, &before);
  const FaultStack stack;
  sigaltstack(nullptr, &within);

  EXPECT_EQ(within.ss_sp, before.ss_sp);
}

}  // namespace
}  // namespace gantry
