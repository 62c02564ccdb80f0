// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/self_times.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;

auto is(std::string name, double ns, bool has_calls = false) {
  return Pair(std::move(name),
              ::testing::AllOf(Field(&SelfTime::ns, ns), Field(&SelfTime::has_calls, has_calls)));
}

TraceEvent call(std::string name, std::int64_t start, std::int64_t end, std::uint64_t thread = 1) {
  return {std::move(name), "call", start, end - start, thread};
}

TEST(SelfTimes, LeaveOutTheCallsWithinACall) {
  // Events are recorded when they end.
  const std::vector<TraceEvent> events{call("add", 10, 14),   call("mul", 22, 25),
                                       call("inner", 20, 30), call("add", 40, 41),
                                       call("main", 0, 100),  call("main", 200, 300)};

  EXPECT_THAT(self_times(events),
              ElementsAre(is("add", 5), is("inner", 7, true), is("main", 185, true), is("mul", 3)));
}

TEST(SelfTimes, AreThoseOfOneThread) {
  const std::vector<TraceEvent> events{call("main", 0, 100), call("other", 10, 20, 2)};

  EXPECT_THAT(self_times(events), ElementsAre(is("main", 100), is("other", 10)));
}

TEST(SelfTimes, IgnoreWhatIsNoCall) {
  const std::vector<TraceEvent> events{call("main", 0, 100), {"dlopen", "load", 10, 20, 1}};

  EXPECT_THAT(self_times(events), ElementsAre(is("main", 100)));
}

TEST(SelfTimes, OfKernelsAreThoseOfTheDevice) {
  const std::vector<TraceEvent> events{call("add", 1, 2),
                                       call("main", 0, 10),
                                       {"add", "kernel", 3, 40, 2},
                                       {"add", "kernel", 50, 40, 2}};

  EXPECT_THAT(self_times(events), ElementsAre(is("add", 80), is("main", 9, true)));
}

TEST(SelfTimes, CountCallsAndKernels) {
  const std::vector<TraceEvent> events{call("add", 1, 2),
                                       call("add", 3, 4),
                                       call("mul", 5, 6),
                                       {"mul", "kernel", 7, 40, 2},
                                       {"mul", "kernel", 50, 40, 2},
                                       {"mul", "kernel", 90, 40, 2}};

  const auto times = self_times(events);

  EXPECT_EQ(times.at("add").calls, 2u);
  EXPECT_EQ(times.at("mul").calls, 3u);
}

TEST(SelfTimes, ContainACallThatBeginsWithTheOneAround) {
  const std::vector<TraceEvent> events{call("add", 0, 4), call("main", 0, 10),
                                       call("relu", 10, 12)};

  EXPECT_THAT(self_times(events), ElementsAre(is("add", 4), is("main", 6, true), is("relu", 2)));
}

TEST(SelfTimes, ContainACallThatEndsWithTheOneAround) {
  const std::vector<TraceEvent> events{call("add", 6, 10), call("main", 0, 10)};

  EXPECT_THAT(self_times(events), ElementsAre(is("add", 4), is("main", 6, true)));
}

TraceEvent op(std::string name, std::int64_t start, std::int64_t end) {
  return {std::move(name), "op", start, end - start, 1};
}

// The functions of the operators are not listed.
TEST(SelfTimes, OfAGraphAreThoseOfItsOperators) {
  const std::vector<TraceEvent> events{call("dense", 12, 18), op("dense_1", 10, 20),
                                       op("reshape", 21, 24), call("dense", 32, 39),
                                       op("dense_2", 30, 40), call("default", 0, 100)};

  EXPECT_THAT(self_times(events), ElementsAre(is("default", 77, true), is("dense_1", 6),
                                              is("dense_2", 7), is("reshape", 3)));
}

TEST(SelfTimes, OfOperatorsOnADeviceAreThoseOfTheirKernels) {
  const std::vector<TraceEvent> events{call("add_kernel", 13, 14),
                                       call("add_kernel", 15, 16),
                                       call("add", 12, 18),
                                       op("add_1", 10, 20),
                                       call("add_kernel", 33, 34),
                                       call("add", 32, 35),
                                       op("add_2", 30, 40),
                                       call("default", 0, 50),
                                       {"add_kernel", "kernel", 20, 500, 2},
                                       {"add_kernel", "kernel", 520, 60, 2},
                                       {"add_kernel", "kernel", 580, 7, 2}};

  EXPECT_THAT(self_times(events),
              ElementsAre(is("add_1", 560), is("add_2", 7), is("default", 30, true)));
}

// The clock may not advance between the two.
TEST(SelfTimes, OfAnOperatorThatIsAsLongAsItsCall) {
  const std::vector<TraceEvent> events{call("add", 10, 20), op("add_1", 10, 20)};

  EXPECT_THAT(self_times(events), ElementsAre(is("add_1", 10)));
}

}  // namespace
}  // namespace gantry
