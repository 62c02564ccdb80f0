// SPDX-License-Identifier: Apache-2.0
//
// Passes SPIR-V from a payload to a fake driver through the real ICD loader.
#include "tests/unit/opencl_icd/fake_drivers.hpp"

#include <gmock/gmock.h>

namespace gantry::opencl::test {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

constexpr std::int32_t with_extension = 1;
constexpr std::int32_t without = 2;

std::vector<std::uint8_t> bytes_of_words() {
  const auto* first = reinterpret_cast<const std::uint8_t*>(words.data());
  return {first, first + 4 * words.size()};
}

class SpirvDriver : public FakeDrivers {
 protected:
  // Loads a payload with one SPIR-V kernel and launches the kernel.
  //
  // at       [in]   bytes before the payload, to vary the alignment of its words
  // out      [out]  the values that the kernel wrote
  Status fill_on(std::int32_t device, std::size_t at, std::vector<float>& out) {
    std::vector<std::uint8_t> file(at);
    const std::vector<std::uint8_t> payload = spirv_bytes({fill}, {{"fill", words}});
    file.insert(file.end(), payload.begin(), payload.end());
    const gantry_blob blob =
        gantry::test::payload_blob(std::span(file).subspan(at, payload.size()));
    StatusBuffer status;
    gantry_module module{};
    std::uint64_t consumed = 0;
    gantry_code code =
        loader_.load_binary(self, &blob, host.node(), &module, &consumed, status.get());
    if (code != GANTRY_OK) return status.error(code, "load_binary");
    code = loader_.check_binary(self, &blob, device, &verdict, status.get());
    EXPECT_EQ(code, GANTRY_OK);

    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = 4 * out.size();
    gantry_value args[4] = {
        {}, float_value(3), int_value(1), int_value(static_cast<std::int64_t>(out.size()))};
    args[0].kind = GANTRY_POINTER;
    EXPECT_EQ(device_.alloc(self, device, &what, &args[0].p, nullptr), GANTRY_OK);
    gantry_function function{};
    EXPECT_EQ(module.table->get_function(module.self, gantry_text("fill"), &function, nullptr),
              GANTRY_OK);
    const gantry_env env{{device_type, device}, nullptr, nullptr, nullptr};
    gantry_value result{};
    code = function.table->call(function.self, &env, args, 4, &result, status.get());
    Status called;
    if (code != GANTRY_OK) called = status.error(code, "fill");
    const gantry_copy copy{sizeof copy,
                           GANTRY_COPY_BLOCKING,
                           {args[0].p, 0, {device_type, device}},
                           {out.data(), 0, {1, 0}},
                           what.size};
    EXPECT_EQ(device_.copy(self, device, &copy, nullptr, nullptr), GANTRY_OK);
    device_.free(self, device, args[0].p);
    module.table->destroy(module.self);
    return called;
  }

  std::int32_t verdict = -1;
};

TEST_F(SpirvDriver, OfOpencl21ReceivesTheWordsOfThePayload) {
  for (const std::size_t at : {0u, 1u, 2u, 3u}) {
    icd->reset();
    std::vector<float> out(8);

    const Status status = fill_on(opencl_2_1, at, out);

    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(icd->drivers[0].created_by, "clCreateProgramWithIL");
    EXPECT_EQ(icd->drivers[0].il, bytes_of_words());
    EXPECT_THAT(out, Each(3.0f));
    EXPECT_EQ(verdict, GANTRY_VERDICT_RECOMPILE);
  }
}

TEST_F(SpirvDriver, OfOpencl12ReceivesThemThroughItsExtension) {
  std::vector<float> out(8);

  const Status status = fill_on(with_extension, 0, out);

  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(icd->drivers[1].created_by, "clCreateProgramWithILKHR");
  EXPECT_EQ(icd->drivers[1].il, bytes_of_words());
  EXPECT_THAT(out, Each(3.0f));
  EXPECT_EQ(verdict, GANTRY_VERDICT_RECOMPILE);
}

TEST_F(SpirvDriver, WithoutSpirvReceivesNothing) {
  std::vector<float> out(8);

  const Status status = fill_on(without, 0, out);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unsupported);
  EXPECT_EQ(status.error().reason, "SPIRV");
  EXPECT_EQ(status.error().message,
            "kernel \"fill\" is SPIR-V, which opencl:2 (fake device), OpenCL 1.2 fake, does not "
            "accept: export it as OpenCL C");
  EXPECT_EQ(verdict, GANTRY_VERDICT_NO);
  EXPECT_THAT(icd->drivers[2].created_by, IsEmpty());
}

// The function table of such a driver ends before the query of extensions.
TEST_F(SpirvDriver, OfOpencl11ReceivesNothing) {
  icd->drivers[1].version = "OpenCL 1.1 fake";
  start();
  std::vector<float> out(8);

  EXPECT_EQ(fill_on(with_extension, 0, out).error().reason, "SPIRV");
}

// The device's list of versions is not sufficient: the driver must have a function for SPIR-V.
TEST_F(SpirvDriver, WithoutAFunctionForSpirvReceivesNothing) {
  icd->drivers[1].has_extension = false;
  start();
  std::vector<float> out(8);

  const Status status = fill_on(with_extension, 0, out);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "SPIRV");
  EXPECT_EQ(verdict, GANTRY_VERDICT_NO);
}

TEST_F(SpirvDriver, OfAnotherIntermediateLanguageReceivesNothing) {
  icd->drivers[0].il_version = "OTHER_1.0";
  std::vector<float> out(8);

  const Status status = fill_on(opencl_2_1, 0, out);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "SPIRV");
  EXPECT_THAT(icd->drivers[0].created_by, IsEmpty());
}

TEST_F(SpirvDriver, ErrorListsTheVersionsThatItAccepts) {
  icd->drivers[0].il_error = CL_INVALID_VALUE;
  std::vector<float> out(8);

  const Status status = fill_on(opencl_2_1, 0, out);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unsupported);
  EXPECT_EQ(status.error().reason, "SPIRV");
  EXPECT_EQ(status.error().native_code, CL_INVALID_VALUE);
  EXPECT_EQ(status.error().message,
            "kernel \"fill\" is SPIR-V that opencl:0 (fake device) rejects; it accepts SPIR-V_1.0 "
            "SPIR-V_1.2: export it for one of these");
}

TEST_F(SpirvDriver, OutOfMemoryIsNotReportedAsABadPayload) {
  icd->drivers[0].il_error = CL_OUT_OF_HOST_MEMORY;
  std::vector<float> out(8);

  const Status status = fill_on(opencl_2_1, 0, out);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::exhausted);
  EXPECT_EQ(status.error().message,
            "creating the program of kernel \"fill\" fails: CL_OUT_OF_HOST_MEMORY");
}

}  // namespace
}  // namespace gantry::opencl::test
