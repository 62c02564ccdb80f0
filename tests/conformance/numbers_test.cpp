// SPDX-License-Identifier: Apache-2.0
//
// Devices that DLPack has no number for: two vendors who both say ext_dev to compilers, in one process.
#include "under_test.hpp"

#include <gmock/gmock.h>

namespace gantry::conformance {
namespace {

using ::testing::HasSubstr;

class TwoVendors : public ::testing::Test {
 protected:
  TwoVendors() : runtime(make_runtime().value()) {}

  Tensor vector(const std::string& device, float value) {
    const std::int64_t shape[] = {100};
    Tensor host = runtime.tensor(shape, {2, 32, 1}).value();
    for (float& element : host.elements<float>()) element = value;
    Tensor there = runtime.tensor(shape, {2, 32, 1}, device).value();
    EXPECT_TRUE(runtime.copy(host, there).ok());
    return there;
  }
  float first_of(const Tensor& tensor) {
    Tensor host = runtime.tensor(tensor.shape(), tensor.dtype()).value();
    EXPECT_TRUE(runtime.copy(tensor, host).ok());
    return host.elements<float>()[0];
  }
  Module load(const UnderTest& device) { return runtime.load(path_of(device)).value(); }

  Runtime runtime;
};

const UnderTest& abacus = devices[1];
const UnderTest& soroban = devices[2];

TEST_F(TwoVendors, HaveANumberEach) {
  const gantry_device_id first = runtime.device("abacus:1").value();
  const gantry_device_id second = runtime.device("soroban:1").value();

  EXPECT_NE(first.type, second.type);
  for (const gantry_device_id id : {first, second}) {
    EXPECT_GE(id.type, 64);
    EXPECT_LE(id.type, 127);
    EXPECT_EQ(id.index, 1);
  }
}

// Both artifacts hold 12 in their code, and neither ever sees another number.
TEST_F(TwoVendors, RunTheirOwnArtifactsInOneProcess) {
  const Module first = load(abacus), second = load(soroban);
  const Function on_abacus = first.function("axpy2").value();
  const Function on_soroban = second.function("axpy2").value();

  for (int k = 0; k < 3; ++k) {
    const Tensor a = vector("abacus:1", 1), b = vector("abacus:1", 2), c = vector("abacus:1", 0);
    const Tensor x = vector("soroban:0", 10), y = vector("soroban:0", 20),
                 z = vector("soroban:0", 0);
    const auto here = on_abacus(a, b, c), there = on_soroban(x, y, z);
    ASSERT_TRUE(here.ok()) << here.error().message;
    ASSERT_TRUE(there.ok()) << there.error().message;
    EXPECT_EQ(first_of(c), 5);
    EXPECT_EQ(first_of(z), 50);
  }
}

TEST_F(TwoVendors, DoNotTakeEachOthersTensors) {
  const Module first = load(abacus), second = load(soroban);
  const Tensor a = vector("abacus:0", 1), x = vector("soroban:0", 1);

  const auto refused = second.function("axpy2").value()(x, a, x);

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("an argument is not on device type 12, ext_dev"));
}

TEST_F(TwoVendors, CopyToEachOtherThroughTheHost) {
  const Tensor a = vector("abacus:1", 42), x = vector("soroban:1", 0);

  const Status copied = runtime.copy(a, x);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(first_of(x), 42);
}

}  // namespace
}  // namespace gantry::conformance
