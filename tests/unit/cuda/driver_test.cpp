// SPDX-License-Identifier: Apache-2.0
//
// Errors for a driver that is missing, does not start, is old, or has no GPU; attributes.
#include "tests/unit/cuda/world.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

namespace gantry::cuda::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Drivers : public WithFakeDriver {
 protected:
  Result<std::int32_t> count(World& of) {
    StatusBuffer status;
    std::int32_t count = -1;
    const gantry_code code = of.device().count(of.self(), &count, status.get());
    if (code != GANTRY_OK) return status.error(code, "count");
    return count;
  }
  std::int64_t exists(World& of, std::int32_t index) {
    gantry_value value{};
    EXPECT_EQ(of.device().attribute(of.self(), index, GANTRY_ATTRIBUTE_EXISTS, &value, nullptr),
              GANTRY_OK);
    return value.i;
  }
};

TEST_F(Drivers, AreNotOpenedBeforeADeviceIsUsed) {
  const auto module = world->load(payload_of({{}}, text_bytes(ptx_text())));

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(fake.calls.size(), 0u);
  module->table->destroy(module->self);
}

TEST_F(Drivers, ReportTheNumberOfDevices) {
  EXPECT_EQ(count(*world).value(), 2);
  EXPECT_EQ(fake.count_of("cuInit"), 1u);
  EXPECT_EQ(count(*world).value(), 2);
  EXPECT_EQ(fake.count_of("cuInit"), 1u);
}

TEST_F(Drivers, ReportTheMissingLibrary) {
  World without("/nowhere/libcuda.so.1");

  const auto counted = count(without);

  ASSERT_FALSE(counted.ok());
  EXPECT_EQ(counted.error().code, Code::unavailable);
  EXPECT_EQ(counted.error().reason, "DRIVER_MISSING");
  EXPECT_THAT(counted.error().message,
              AllOf(StartsWith("CUDA driver is missing, tried 1 name\n    /nowhere/libcuda.so.1: "),
                    HasSubstr("No such file or directory"),
                    HasSubstr("\n  option library of gantry.cuda names this file")));
  EXPECT_EQ(exists(without, 0), 0);
}

TEST_F(Drivers, AreSearchedInTheDefaultLocations) {
  World without("");

  const auto counted = count(without);

  if (counted.ok()) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_EQ(counted.error().code, Code::unavailable);
  if (counted.error().reason != "DRIVER_MISSING") GTEST_SKIP() << counted.error().message;
  EXPECT_THAT(counted.error().message,
              AllOf(StartsWith("CUDA driver is missing, tried 3 names\n    libcuda.so.1: "),
                    HasSubstr("/usr/lib/wsl/lib/libcuda.so.1: "), HasSubstr("LD_LIBRARY_PATH"),
                    HasSubstr("not with the CUDA Toolkit")));
}

TEST_F(Drivers, WithoutTheirFunctionsAreRejected) {
  World wrong("libm.so.6");

  const auto counted = count(wrong);

  ASSERT_FALSE(counted.ok());
  EXPECT_EQ(counted.error().code, Code::unavailable);
  EXPECT_EQ(counted.error().reason, "DRIVER_SYMBOL");
  EXPECT_THAT(counted.error().message,
              AllOf(StartsWith("CUDA driver in libm.so.6 lacks "), HasSubstr("cuMemAlloc_v2"),
                    ::testing::Not(HasSubstr("cuGraphInstantiateWithFlags"))));
}

TEST_F(Drivers, ReportWhyTheyDoNotStart) {
  fake.init_result = CUDA_ERROR_STUB_LIBRARY;

  const auto counted = count(*world);

  ASSERT_FALSE(counted.ok());
  EXPECT_EQ(counted.error().code, Code::unavailable);
  EXPECT_EQ(counted.error().native_domain, "CUDA");
  EXPECT_EQ(counted.error().native_code, 34);
  EXPECT_EQ(counted.error().message,
            concat("cuInit: CUDA_ERROR_STUB_LIBRARY (34), what the driver says\n  while starting ",
                   World::fake_library()));
  // A later call tries again.
  fake.init_result = CUDA_SUCCESS;
  EXPECT_EQ(count(*world).value(), 2);
}

TEST_F(Drivers, WithoutAGpuReportNoDevice) {
  fake.init_result = CUDA_ERROR_NO_DEVICE;

  EXPECT_EQ(count(*world).value(), 0);
  EXPECT_EQ(exists(*world, 0), 0);
  const Result<void*> made = world->alloc(16);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::invalid);
  EXPECT_EQ(made.error().message,
            "device index is 0, the CUDA driver shows 0 devices (is CUDA_VISIBLE_DEVICES set, and "
            "is the GPU's node in /dev?)");
}

TEST_F(Drivers, CompileThePtxOfTheirRelease) {
  struct Release {
    int version;
    Architecture ptx;
  };
  for (const Release& release :
       {Release{10020, {}}, Release{11000, {7, 0}}, Release{11080, {7, 8}}, Release{11090, {}},
        Release{12000, {8, 0}}, Release{12050, {8, 5}}, Release{12060, {8, 5}},
        Release{12090, {8, 8}}, Release{12100, {}}, Release{13000, {9, 0}}, Release{13010, {9, 1}},
        Release{13020, {}}, Release{14000, {}}}) {
    fake.version = release.version;

    const auto driver = Driver::open(World::fake_library());

    ASSERT_TRUE(driver.ok()) << driver.error().message;
    EXPECT_EQ((*driver)->latest_ptx(), release.ptx) << release.version;
  }
}

// Drivers before CUDA 11.4 have no cuGraphInstantiateWithFlags.
TEST_F(Drivers, ReportTheFunctionThatTheyLackBeforeACapture) {
  auto* const plugin = static_cast<Plugin*>(world->self());
  auto* const driver = const_cast<Driver*>(plugin->gpus.driver().value());
  driver->graph_instantiate.function = nullptr;
  StatusBuffer status;

  const gantry_code code = world->device().capture_begin(world->self(), 0, nullptr, status.get());

  ASSERT_EQ(code, GANTRY_UNSUPPORTED);
  EXPECT_EQ(status.error(code, "").message,
            "the CUDA driver (12.4) has no cuGraphInstantiateWithFlags; a newer driver has");
  EXPECT_EQ(fake.count_of("cuStreamBeginCapture_v2"), 0u);
  EXPECT_EQ(driver->call(driver->graph_instantiate, nullptr, nullptr, 0ull).error().reason,
            "DRIVER_SYMBOL");
}

TEST_F(Drivers, ReportErrorsThatTheyCannotName) {
  fake.init_result = CUDA_ERROR_NOT_PERMITTED;

  const auto counted = count(*world);

  ASSERT_FALSE(counted.ok());
  EXPECT_THAT(counted.error().message, StartsWith("cuInit: error (800), unknown to the driver\n"));
}

class Attributes : public Drivers {
 protected:
  // The value as text, or the code's name.
  std::string attribute(std::int32_t kind, std::int32_t index = 0) {
    gantry_value value{};
    StatusBuffer status;
    const gantry_code code =
        world->device().attribute(world->self(), index, kind, &value, status.get());
    if (code != GANTRY_OK) return std::string(name_of(static_cast<Code>(code)));
    const Value owned = Value::adopt(value);
    if (const auto text = value_text(owned.get())) return std::string(*text);
    return concat(owned.get().i);
  }
};

TEST_F(Attributes, ReportTheDriversValues) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS), "1");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK), "10001");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_WARP_SIZE), "10010");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), "10008");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_COMPUTE_VERSION), "9.0");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_COMPUTE_VERSION, 1), "7.5");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_DEVICE_NAME), "Fake H200");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_CLOCK_RATE), "10013");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT), "10016");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS), "[10002, 10003, 10004]");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK), "10012");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_API_VERSION), concat(CUDA_VERSION));
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_DRIVER_VERSION), "12.4");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_L2_CACHE_SIZE), "10038");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_SHARED_ADDRESSES), "0");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY), "4294967296");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES), "0");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_UUID, 1), "ababababababababababababababab01");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_PCI_ADDRESS), "0000:a0:00.0");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_NUMA_NODE), "not found") << "-1";
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_NUMA_NODE, 1), "0");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_VENDOR_ID), "4318");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_PRODUCT_ID), "not found");
  // None of these requires a context.
  EXPECT_EQ(fake.count_of("cuDevicePrimaryCtxRetain"), 0u);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY), "4294967296");
}

TEST_F(Attributes, OfAnOldDriverHaveNoNode) {
  fake.version = 12010;

  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_NUMA_NODE, 1), "not found");
}

TEST_F(Attributes, ThatDoNotApplyAreNotFound) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_GCN_ARCH), "not found");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_IMAGE_PITCH_ALIGNMENT), "not found");
  EXPECT_EQ(attribute(-1), "not found");
  EXPECT_EQ(attribute(999999), "not found");
}

TEST_F(Attributes, ThatDoNotApplyNeedNoDriver) {
  world = std::make_unique<World>("/missing/libcuda.so.1");

  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_GCN_ARCH), "not found");
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_WARP_SIZE), "unavailable");
}

TEST_F(Attributes, HaveATextThatEndsInItsBuffer) {
  fake.gpus[0].name = std::string(300, 'x');

  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_DEVICE_NAME), std::string(255, 'x'));
}

TEST_F(Attributes, RejectAnIndexPastTheCount) {
  for (const std::int32_t index : {-1, 2, INT32_MAX}) {
    EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS, index), "0");
    EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_WARP_SIZE, index), "invalid");
    EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_DEVICE_NAME, index), "invalid");
    EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES, index), "invalid");
  }
  EXPECT_EQ(fake.count_of("cuDeviceGet"), 0u) << "the driver received the index";
}

}  // namespace
}  // namespace gantry::cuda::test
