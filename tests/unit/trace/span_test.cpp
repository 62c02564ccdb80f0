// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/span.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace gantry {
namespace {

TEST(Span, RecordsItsScopeAndThread) {
  TraceRecorder recorder;

  { const Span span(&recorder, "load", "test"); }
  std::thread([&] { const Span span(&recorder, "run", "test"); }).join();

  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].name, "load");
  EXPECT_GE(events[0].duration_ns, 0);
  EXPECT_EQ(events[0].thread, 0u);
  EXPECT_EQ(events[1].thread, 1u);
}

TEST(Span, DoesNothingWithoutARecorder) { const Span span(nullptr, "load", "test"); }

}  // namespace
}  // namespace gantry
