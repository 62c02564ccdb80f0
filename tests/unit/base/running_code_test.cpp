// SPDX-License-Identifier: Apache-2.0
#include "core/base/running_code.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace gantry {
namespace {

// "load_binary of acme.npu"; empty: no call is recorded.
std::string current() {
  const CallRecord* const call = CallRecord::current();
  if (call == nullptr) return {};
  return std::string(call->function()) + " of " + std::string(call->name());
}

TEST(CallRecord, IsTheInnermostOneOfItsThread) {
  EXPECT_EQ(current(), "");
  {
    const CallRecord outer("create", "acme.npu");
    EXPECT_EQ(current(), "create of acme.npu");
    {
      const CallRecord inner("load_binary", "acme.gpu");
      EXPECT_EQ(current(), "load_binary of acme.gpu");
      std::thread([] { EXPECT_EQ(current(), ""); }).join();
    }
    EXPECT_EQ(current(), "create of acme.npu");
  }
  EXPECT_EQ(current(), "");
}

TEST(CallRecord, OfTheCoreIsNone) {
  const CallRecord outer("create", "acme.npu");
  const CallRecord core("get_function", "");

  EXPECT_EQ(current(), "create of acme.npu");
}

TEST(CallRecord, OfTheProgramIsThatOfThreadsWithoutOne) {
  {
    const CallRecord program("function \"run\"");
    std::thread([] {
      EXPECT_EQ(current(), "function \"run\" of ");
      const CallRecord own("create", "acme.npu");
      EXPECT_EQ(current(), "create of acme.npu");
    }).join();
  }
  std::thread([] { EXPECT_EQ(current(), ""); }).join();
}

}  // namespace
}  // namespace gantry
