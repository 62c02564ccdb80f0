// SPDX-License-Identifier: Apache-2.0
//
// Waits of the OpenCL plugin, with drivers that run commands only when a call waits for them.
#include "tests/unit/opencl_icd/fake_drivers.hpp"

#include <gmock/gmock.h>

namespace gantry::opencl::test {
namespace {

using ::testing::Each;

class OpenclOrder : public FakeDrivers {
 protected:
  void SetUp() override {
    FakeDrivers::SetUp();
    for (void** data : {&a, &b}) {
      gantry_alloc what{};
      what.struct_size = sizeof what;
      what.size = sizeof(float) * sent.size();
      ASSERT_EQ(device_.alloc(self, opencl_2_1, &what, data, nullptr), GANTRY_OK);
    }
  }
  void TearDown() override {
    for (void* const data : {a, b}) {
      if (self != nullptr) device_.free(self, opencl_2_1, data);
    }
    FakeDrivers::TearDown();
  }

  void copy(gantry_location from, gantry_location to, std::uint32_t flags = 0,
            void* stream = nullptr, std::uint64_t size = 16) {
    const gantry_copy what{sizeof what, flags, from, to, size};
    ASSERT_EQ(device_.copy(self, opencl_2_1, &what, stream, nullptr), GANTRY_OK);
  }
  static gantry_location on_host(std::vector<float>& values) { return {values.data(), 0, {1, 0}}; }
  static gantry_location on_device(void* data) { return {data, 0, {device_type, opencl_2_1}}; }
  void* stream() {
    void* made = nullptr;
    EXPECT_EQ(device_.stream_create(self, opencl_2_1, 0, &made, nullptr), GANTRY_OK);
    return made;
  }

  std::vector<float> sent{1, 2, 3, 4};
  std::vector<float> received = std::vector<float>(4);
  void* a = nullptr;
  void* b = nullptr;
};

TEST_F(OpenclOrder, BlockingCopiesHaveRunWhenTheyReturn) {
  const std::pair<gantry_location, gantry_location> ways[] = {{on_host(sent), on_device(a)},
                                                              {on_device(a), on_device(b)},
                                                              {on_device(b), on_host(received)}};
  for (const auto& [from, to] : ways) {
    copy(from, to);
    EXPECT_EQ(icd->pending, 1);

    copy(from, to, GANTRY_COPY_BLOCKING);

    EXPECT_EQ(icd->pending, 0);
  }
  EXPECT_EQ(received, sent);
}

TEST_F(OpenclOrder, EmptyBlockingCopiesWaitForEarlierWork) {
  copy(on_host(sent), on_device(a));
  copy(on_host(sent), on_device(a), 0, nullptr, 0);
  EXPECT_EQ(icd->pending, 1);

  copy(on_host(sent), on_device(a), GANTRY_COPY_BLOCKING, nullptr, 0);

  EXPECT_EQ(icd->pending, 0);
}

TEST_F(OpenclOrder, SynchronizationWaitsForItsStream) {
  void* const other = stream();
  copy(on_host(sent), on_device(a));
  copy(on_host(sent), on_device(b), 0, other);

  ASSERT_EQ(device_.synchronize(self, opencl_2_1, other, nullptr), GANTRY_OK);
  EXPECT_EQ(icd->pending, 1);
  ASSERT_EQ(device_.synchronize(self, opencl_2_1, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(icd->pending, 0);

  device_.stream_destroy(self, opencl_2_1, other);
}

TEST_F(OpenclOrder, WorkOfADestroyedStreamIsNotLost) {
  void* const other = stream();
  copy(on_host(sent), on_device(a), 0, other);

  device_.stream_destroy(self, opencl_2_1, other);

  copy(on_device(a), on_host(received), GANTRY_COPY_BLOCKING);
  EXPECT_EQ(received, sent);
}

TEST_F(OpenclOrder, EventsOrderStreams) {
  void* const first = stream();
  void* const second = stream();
  void* event = nullptr;
  ASSERT_EQ(device_.event_create(self, opencl_2_1, 0, &event, nullptr), GANTRY_OK);

  copy(on_host(sent), on_device(a), 0, first);
  ASSERT_EQ(device_.event_record(self, opencl_2_1, event, first, nullptr), GANTRY_OK);
  ASSERT_EQ(device_.event_wait(self, opencl_2_1, event, second, nullptr), GANTRY_OK);
  copy(on_device(a), on_host(received), GANTRY_COPY_BLOCKING, second);

  EXPECT_EQ(received, sent);
  device_.event_destroy(self, opencl_2_1, event);
  device_.stream_destroy(self, opencl_2_1, first);
  device_.stream_destroy(self, opencl_2_1, second);
}

TEST_F(OpenclOrder, TimesOfEventsAreAwaited) {
  void* events[2] = {};
  std::int64_t ns = 0;
  for (void*& event : events) {
    ASSERT_EQ(device_.event_create(self, opencl_2_1, 0, &event, nullptr), GANTRY_OK);
    ASSERT_EQ(device_.event_record(self, opencl_2_1, event, nullptr, nullptr), GANTRY_OK);
  }

  ASSERT_EQ(device_.event_elapsed(self, opencl_2_1, events[0], events[1], &ns, nullptr), GANTRY_OK);

  EXPECT_EQ(ns, 1);
  for (void* const event : events) device_.event_destroy(self, opencl_2_1, event);
}

TEST_F(OpenclOrder, WorkHasRunWhenThePluginIsDestroyed) {
  copy(on_host(sent), on_device(a));
  copy(on_device(a), on_host(received));
  for (void* const data : {a, b}) device_.free(self, opencl_2_1, data);

  stop();

  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace gantry::opencl::test
