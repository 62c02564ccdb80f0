// SPDX-License-Identifier: Apache-2.0
//
// Case 79: functions that run on the device, as calls of a batch (gantry/batch.h).
#include "core/engine/native/batch.hpp"
#include "under_test.hpp"

#include <gantry/abi_boundary.hpp>

namespace gantry::conformance {
namespace {

class DeviceBatch : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) function = axpy2();
  }
  // c = a + 2 b, on device `index`
  struct Sum {
    Tensor a, b, c;
    std::vector<gantry_value> args;
  };
  Sum sum(std::int32_t index, float b) {
    Sum made{vector(100, 1, 0, index), vector(100, b, 0, index), vector(100, 0, 0, index), {}};
    for (const Tensor* const tensor : {&made.a, &made.b, &made.c}) {
      made.args.push_back({GANTRY_TENSOR_REF, 0, {}});
      made.args.back().tensor = tensor->dlpack();
    }
    return made;
  }
  Status run(std::vector<Sum>& sums, const gantry_env& env) {
    std::vector<gantry_batch_call> calls;
    for (const Sum& one : sums) {
      calls.push_back({function.get(), one.args.data(), static_cast<std::int32_t>(one.args.size()),
                       0, one.a.dlpack()->device});
    }
    GANTRY_TRY(const ObjectPtr batch, new_batch(calls));
    StatusBuffer status;
    const gantry_code code = run_batch(batch.get(), env, nullptr, &failed, status.get());
    return code == GANTRY_OK ? Status() : status.error(code, "run");
  }

  Function function;
  std::uint64_t failed = GANTRY_NO_CALL;
};

// Neighbouring calls are on the same device and on another one, where there is one.
TEST_P(DeviceBatch, ComputesWhatSingleCallsDo) {
  std::vector<Sum> sums;
  for (std::int32_t i = 0; i < count(); ++i) {
    sums.push_back(sum(i, 10));
    sums.push_back(sum(i, 20));
  }
  sums.push_back(sum(0, 30));

  for (int k = 0; k < 2; ++k) {
    const Status ran = run(sums, {{device.id.type, 0}, nullptr, nullptr});
    ASSERT_TRUE(ran.ok()) << ran.error().message;
  }

  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float b = i + 1 == sums.size() ? 30 : i % 2 == 0 ? 10 : 20;
    EXPECT_EQ(elements(sums[i].c)[99], 1 + 2 * b) << i;
  }
}

TEST_P(DeviceBatch, RunsInTheStreamOfItsEnv) {
  const TestStream stream(device);
  if (stream.is_absent()) GTEST_SKIP() << GetParam().kind << " has its default stream only";
  std::vector<Sum> sums;
  sums.push_back(sum(0, 10));
  sums.push_back(sum(0, 20));
  // The second call reads what the first one writes.
  sums[1].args[1] = sums[0].args[2];

  const Status ran = run(sums, {{device.id.type, 0}, stream.get(), nullptr});

  ASSERT_TRUE(ran.ok()) << ran.error().message;
  ASSERT_TRUE(synchronize(stream.get()).ok());
  EXPECT_EQ(elements(sums[1].c)[99], 1 + 2 * (1 + 2 * 10));
}

TEST_P(DeviceBatch, ReportsTheCallThatFailsAsASingleCallDoes) {
  std::vector<Sum> sums;
  for (int i = 0; i < 3; ++i) sums.push_back(sum(0, 10));
  sums[1].args.pop_back();
  const auto alone = function.call(sums[1].args);
  ASSERT_FALSE(alone.ok());

  const Status ran = run(sums, {{device.id.type, 0}, nullptr, nullptr});

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().message, alone.error().message);
  EXPECT_EQ(ran.error().code, alone.error().code);
  EXPECT_EQ(failed, 1u);
  EXPECT_TRUE(synchronize().ok());
  EXPECT_EQ(elements(sums[0].c)[99], 21);
  EXPECT_EQ(elements(sums[2].c)[99], 0);
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceBatch, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
