// SPDX-License-Identifier: Apache-2.0
//
// Cases 52 to 62: loading of valid, truncated and modified payloads, from any address.
#include "device_payload.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

namespace gantry::conformance {
namespace {

// 52
TEST_P(DevicePayload, IsRefusedAtEveryTruncation) {
  const ObjectPtr pin = no_pin();
  for (std::size_t k = 0; k < 66; ++k) {
    const std::size_t size = k < 2 ? k : (k - 2) * payload.size() / 64;
    const Guarded cut(front_of_payload(size));

    const auto loaded = load(cut.bytes(), pin.get());

    ASSERT_FALSE(loaded.ok()) << "the first " << size << " bytes of " << payload.size()
                              << " are accepted";
    EXPECT_TRUE(loaded.error().code == Code::malformed || loaded.error().code == Code::unsupported)
        << size << ": " << loaded.error().message;
    EXPECT_FALSE(loaded.error().message.empty());
  }
}

// The complete case has 10,000 mutations; the default is lower because CI has two cores and four
// presets.
int mutations() {
  const char* const count = std::getenv("GANTRY_CONFORMANCE_MUTATIONS");
  return count != nullptr ? std::atoi(count) : 2000;
}

// 53; the mutations are the same in every run
TEST_P(DevicePayload, ThatIsDamagedReturnsAnErrorOrAModule) {
  const ObjectPtr pin = no_pin();
  std::mt19937 random(53);
  for (int k = 0; k < mutations(); ++k) {
    std::vector<std::uint8_t> damaged = payload;
    for (std::uint32_t n = 1 + random() % 4; n != 0; --n) {
      // The payload's structure is at its start.
      const std::size_t at =
          random() % (k % 2 == 0 ? damaged.size() : std::min<std::size_t>(damaged.size(), 256));
      damaged[at] = k % 3 == 0 ? std::uint8_t{0xff} : static_cast<std::uint8_t>(random());
    }
    const Guarded bytes(damaged);

    const auto loaded = load(bytes.bytes(), pin.get());

    if (loaded.ok()) continue;
    EXPECT_NE(loaded.error().code, Code::bug) << k << ": " << loaded.error().message;
    EXPECT_FALSE(loaded.error().message.empty()) << k;
  }
}

TEST_P(DevicePayload, WithATrailingByteIsRefused) {
  std::vector<std::uint8_t> longer = payload;
  longer.push_back(0);

  const auto loaded = load(longer, no_pin().get());

  ASSERT_FALSE(loaded.ok() && loaded->consumed == longer.size()) << "the trailing byte is accepted";
}

// 56, 57
TEST_P(DevicePayload, LoadsFromEveryAddressAndFromReadOnlyMemory) {
  const ObjectPtr pin = no_pin();
  std::vector<std::string> names;
  for (std::size_t offset = 0; offset < 64; ++offset) {
    const Guarded bytes(payload, offset);

    const auto loaded = load(bytes.bytes(), pin.get());

    ASSERT_TRUE(loaded.ok()) << offset << ": " << loaded.error().message;
    EXPECT_EQ(loaded->consumed, payload.size());
    if (offset == 0) names = kernels(*loaded);
    EXPECT_EQ(kernels(*loaded), names) << offset;
  }
}

// 58, 59: a module that keeps the bytes retains their pin, and releases it with itself.
TEST_P(DevicePayload, IsMappedAsLongAsTheModuleRetainsIt) {
  auto bytes = std::make_shared<Guarded>(payload);
  const std::weak_ptr<Guarded> alive = bytes;
  const std::span<const std::uint8_t> view = bytes->bytes();
  ObjectPtr pin = pin_of(std::move(bytes));
  {
    const auto loaded = load(view, pin.get());
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    // unmaps the bytes, unless the module has retained the pin
    pin = ObjectPtr();
    const std::vector<std::string> names = kernels(*loaded);
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) {
      gantry_function function{};
      ASSERT_EQ(loaded->pair.table->get_function(loaded->pair.self, {name.data(), name.size()},
                                                 &function, nullptr),
                GANTRY_OK)
          << name;
      if (GANTRY_HAS(function.table, destroy) && function.table->destroy)
        function.table->destroy(function.self);
    }
  }
  EXPECT_TRUE(alive.expired()) << "the bytes are still mapped after the module is destroyed";
}

// 60
TEST_P(DevicePayload, LoadsRepeatedlyOnManyThreads) {
  const ObjectPtr pin = no_pin();
  const bool parallel = (loader->flags & GANTRY_LOADER_PARALLEL) != 0;
  std::atomic<int> failed{0};
  const auto load_often = [&] {
    for (int k = 0; k < 100; ++k) failed += load(payload, pin.get()).ok() ? 0 : 1;
  };
  // Creates what is kept until the process ends.
  load_often();
  const std::size_t before = mallinfo2().uordblks;

  load_often();
  const std::size_t after = mallinfo2().uordblks;
  std::vector<std::thread> threads;
  for (int t = 0; t < (parallel ? 16 : 0); ++t) threads.emplace_back(load_often);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failed, 0);
  EXPECT_LT(after, before + payload.size() + 65536) << "a hundred modules leak memory";
}

// 61
gantry_code write_some(void* self, const void* data, std::uint64_t size, gantry_status* status) {
  auto& [bytes, max] = *static_cast<std::pair<std::vector<std::uint8_t>, std::size_t>*>(self);
  if (size > max - bytes.size())
    return gantry_fail(status, GANTRY_EXHAUSTED, "DISK", "the disk is full");
  bytes.insert(bytes.end(), static_cast<const std::uint8_t*>(data),
               static_cast<const std::uint8_t*>(data) + size);
  return GANTRY_OK;
}

TEST_P(DevicePayload, IsSavedUnchangedAndAFullDiskIsReported) {
  const auto loaded = load(payload, no_pin().get());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  if (!GANTRY_HAS(loaded->pair.table, save_binary) || !loaded->pair.table->save_binary)
    GTEST_SKIP() << "modules of " << GetParam().type_key << " are not saved";

  for (const std::size_t max :
       {payload.size(), std::size_t{0}, std::size_t{9}, payload.size() - 1}) {
    std::pair<std::vector<std::uint8_t>, std::size_t> disk({}, max);
    gantry_sink sink{};
    sink.struct_size = sizeof sink;
    sink.self = &disk;
    sink.write = write_some;
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* failure) {
      return loaded->pair.table->save_binary(loaded->pair.self, &sink, failure);
    });
    EXPECT_EQ(code, max == payload.size() ? GANTRY_OK : GANTRY_EXHAUSTED) << max;
    EXPECT_TRUE(code != GANTRY_OK || disk.first == payload) << max;
  }
}

// 62
TEST_P(DevicePayload, VerdictMatchesLoading) {
  const ObjectPtr pin = no_pin();
  for (const std::size_t size : {payload.size(), payload.size() / 2, std::size_t{3}}) {
    const auto verdict = verdict_of(front_of_payload(size));
    if (!verdict.ok() && verdict.error().code == Code::unsupported && size == payload.size())
      GTEST_SKIP() << "no check_binary";
    EXPECT_EQ(verdict.ok(), load(front_of_payload(size), pin.get()).ok()) << size;
    if (verdict.ok()) {
      EXPECT_GE(*verdict, GANTRY_VERDICT_RECOMPILE) << "check_binary rejects a payload that runs";
      EXPECT_LE(*verdict, GANTRY_VERDICT_OPTIMAL);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, DevicePayload, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
