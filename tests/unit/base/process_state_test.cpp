// SPDX-License-Identifier: Apache-2.0
#include "core/base/process_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <filesystem>
#include <locale>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Scope = ProcessState::Scope;

// Flags of exceptions are results of computations.
TEST(ProcessState, DoesNotIncludeFloatingPointExceptions) {
  std::feclearexcept(FE_ALL_EXCEPT);
  ProcessState before(Scope::plugin);
  // feraiseexcept() may set it in another register.
  volatile double third = 1;
  third = third / 3;

  EXPECT_THAT(before.restore(), IsEmpty());
  EXPECT_NE(std::fetestexcept(FE_INEXACT), 0);
}

TEST(ProcessState, IncludesTheSignalMask) {
  sigset_t first, second, original, now;
  sigemptyset(&first);
  sigaddset(&first, SIGUSR1);
  sigemptyset(&second);
  sigaddset(&second, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &first, &original);
  ProcessState before(Scope::artifact);
  pthread_sigmask(SIG_SETMASK, &second, nullptr);

  EXPECT_THAT(before.restore(), ElementsAre("the signal mask"));
  pthread_sigmask(SIG_SETMASK, &original, &now);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&now, SIGUSR2), 0);
}

TEST(ProcessState, IncludesTheActionsOfSignals) {
  struct sigaction before {};
  sigaction(SIGUSR2, nullptr, &before);
  ProcessState state(Scope::signals), others(Scope::plugin);
  std::signal(SIGUSR2, SIG_IGN);

  EXPECT_THAT(others.restore(), IsEmpty());
  EXPECT_THAT(state.restore(), ElementsAre("the action of a signal"));
  struct sigaction now {};
  sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
  EXPECT_THAT(state.restore(), IsEmpty());
}

TEST(ProcessState, IncludesTheWorkingDirectory) {
  const std::filesystem::path here = std::filesystem::current_path();
  ProcessState before(Scope::artifact);
  std::filesystem::current_path("/");

  EXPECT_THAT(before.restore(), ElementsAre("the working directory"));
  EXPECT_EQ(std::filesystem::current_path(), here);
}

TEST(ProcessState, IncludesTheLocales) {
  const std::locale cxx;
  ProcessState before(Scope::plugin);
  std::locale::global(std::locale(cxx, new std::ctype<char>));
  EXPECT_THAT(before.restore(), ElementsAre("the locale"));
  EXPECT_EQ(std::locale(), cxx);

  ASSERT_NE(std::setlocale(LC_ALL, "C.UTF-8"), nullptr);
  EXPECT_THAT(before.restore(), ElementsAre("the locale"));
  EXPECT_STREQ(std::setlocale(LC_ALL, nullptr), "C");

  const locale_t of_thread = ::newlocale(LC_ALL_MASK, "C.UTF-8", locale_t{});
  ::uselocale(of_thread);
  EXPECT_THAT(before.restore(), ElementsAre("the locale"));
  EXPECT_EQ(::uselocale(locale_t{}), LC_GLOBAL_LOCALE);
  ::freelocale(of_thread);
}

// Opens another file under the number of a standard descriptor while it exists.
class OtherFileAs {
 public:
  explicit OtherFileAs(int number) : number_(number), saved_(::fcntl(number, F_DUPFD_CLOEXEC, 3)) {
    ::close(number);
  }
  ~OtherFileAs() {
    ::dup2(saved_, number_);
    ::close(saved_);
  }
  OtherFileAs(const OtherFileAs&) = delete;
  OtherFileAs& operator=(const OtherFileAs&) = delete;

  void open(const char* path) {
    const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
    if (descriptor == number_) return;
    ::dup2(descriptor, number_);
    ::close(descriptor);
  }

 private:
  int number_;
  int saved_;
};

TEST(ProcessState, IncludesEachStandardDescriptor) {
  constexpr const char* names[] = {"standard input", "standard output", "standard error"};
  struct stat null {
  }, now{};
  ASSERT_EQ(::stat("/dev/null", &null), 0);
  for (const int number : {0, 1, 2}) {
    OtherFileAs other(number);
    other.open("/dev/null");
    ProcessState before(Scope::artifact);
    other.open("/dev/zero");

    EXPECT_THAT(before.restore(), ElementsAre(names[number]));
    ASSERT_EQ(::fstat(number, &now), 0);
    EXPECT_EQ(now.st_rdev, null.st_rdev) << names[number];
  }
}

TEST(ProcessState, DoesNotIncludeAClosedDescriptor) {
  OtherFileAs other(STDIN_FILENO);
  ProcessState before(Scope::artifact);
  other.open("/dev/zero");

  EXPECT_THAT(before.restore(), IsEmpty());
}

TEST(ProcessState, OfAnArtifactDoesNotIncludeTheCreationMask) {
  const mode_t mask = umask(022);
  ProcessState artifact(Scope::artifact), plugin(Scope::plugin);
  umask(027);

  EXPECT_THAT(artifact.restore(), IsEmpty());
  EXPECT_THAT(plugin.restore(), ElementsAre("the file mode creation mask"));
  EXPECT_EQ(umask(mask), 022u);
}

TEST(ProcessState, NamesEveryChange) {
  const mode_t mask = umask(022);
  ProcessState before(Scope::plugin);
  umask(027);
  std::fesetround(FE_UPWARD);

  EXPECT_THAT(before.restore(),
              ElementsAre("the floating-point control register", "the file mode creation mask"));
  EXPECT_THAT(before.restore(), IsEmpty());
  umask(mask);
}

}  // namespace
}  // namespace gantry
