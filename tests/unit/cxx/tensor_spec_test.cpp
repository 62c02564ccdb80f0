// SPDX-License-Identifier: Apache-2.0
#include <gantry/tensor_spec.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace gantry {
namespace {

constexpr gantry_device_id gpu{2, 1};
constexpr Extent rows_of_64[] = {'n', 64};

// A tensor float32[3, 64] on cpu:0, whose data begin at address 256.
struct Subject {
  std::vector<std::int64_t> shape = {3, 64};
  std::vector<std::int64_t> strides;
  gantry_tensor tensor{};
  TensorSpec spec{.dtype = dtypes::float32, .shape = rows_of_64};
  Extents extents;

  Subject() {
    tensor.data = reinterpret_cast<void*>(256);
    tensor.device = {1, 0};
    tensor.dtype = dtypes::float32;
  }
  TensorMatch match() {
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    return TensorMatch(tensor, spec, gpu, extents);
  }
};

struct Misfit {
  std::string name;
  std::function<void(Subject&)> change;
  std::string reason;
  std::string message;
};
void PrintTo(const Misfit& misfit, std::ostream* out) { *out << misfit.name; }

class TensorMatchRefuses : public ::testing::TestWithParam<Misfit> {};

TEST_P(TensorMatchRefuses, NamingWhatIsFoundAndExpected) {
  Subject subject;
  ASSERT_TRUE(subject.match().ok());
  subject.extents = Extents();
  GetParam().change(subject);

  const TensorMatch match = subject.match();

  ASSERT_FALSE(match.ok());
  const Failure failure = match.failure("argument 0 (x)");
  EXPECT_EQ(failure.error().code, Code::invalid);
  EXPECT_EQ(failure.error().reason, GetParam().reason);
  EXPECT_EQ(failure.error().message, "argument 0 (x) is " + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Tensors, TensorMatchRefuses,
    ::testing::Values(
        Misfit{"Device", [](Subject& s) { s.tensor.device = gpu; }, "ARGUMENT_DEVICE",
               "float32[3, 64] on cuda:1, expected float32[n, 64] on cpu"},
        Misfit{"OtherDeviceThanTheCall", [](Subject& s) { s.spec.place = TensorPlace::call; },
               "ARGUMENT_DEVICE", "float32[3, 64] on cpu:0, expected float32[n, 64] on cuda:1"},
        Misfit{"OtherIndexThanTheCall",
               [](Subject& s) {
                 s.spec.place = TensorPlace::call;
                 s.tensor.device = {2, 0};
               },
               "ARGUMENT_DEVICE", "float32[3, 64] on cuda:0, expected float32[n, 64] on cuda:1"},
        Misfit{"DeviceOfARuntime",
               [](Subject& s) {
                 s.tensor.device = {64, 0};
               },
               "ARGUMENT_DEVICE", "float32[3, 64] on device 64:0, expected float32[n, 64] on cpu"},
        Misfit{"Dtype", [](Subject& s) { s.tensor.dtype = dtypes::float64; }, "ARGUMENT_DTYPE",
               "float64[3, 64] on cpu:0, expected float32[n, 64] on cpu"},
        Misfit{"Lanes", [](Subject& s) { s.tensor.dtype.lanes = 4; }, "ARGUMENT_DTYPE",
               "float32x4[3, 64] on cpu:0, expected float32[n, 64] on cpu"},
        Misfit{"NumberOfDimensions",
               [](Subject& s) {
                 s.shape = {3, 64, 1};
               },
               "ARGUMENT_SHAPE", "float32[3, 64, 1] on cpu:0, expected float32[n, 64] on cpu"},
        Misfit{"FixedExtent",
               [](Subject& s) {
                 s.shape = {3, 65};
               },
               "ARGUMENT_SHAPE", "float32[3, 65] on cpu:0, expected float32[n, 64] on cpu"},
        Misfit{"ExtentOfAnotherTensor",
               [](Subject& s) {
                 EXPECT_TRUE(s.match().ok());
                 s.shape = {4, 64};
               },
               "ARGUMENT_SHAPE", "float32[4, 64] on cpu:0, expected float32[n = 3, 64] on cpu"},
        Misfit{"ExtentTwice",
               [](Subject& s) {
                 static constexpr Extent square[] = {'n', 'n'};
                 s.spec.shape = square;
               },
               "ARGUMENT_SHAPE", "float32[3, 64] on cpu:0, expected float32[n, n] on cpu"},
        Misfit{"Strides",
               [](Subject& s) {
                 s.strides = {1, 3};
               },
               "ARGUMENT_STRIDES",
               "float32[3, 64] on cpu:0 with strides [1, 3], expected float32[n, 64] on cpu, "
               "compact"},
        Misfit{"Offset", [](Subject& s) { s.tensor.byte_offset = 128; }, "ARGUMENT_OFFSET",
               "float32[3, 64] on cpu:0 at byte offset 128, expected float32[n, 64] on cpu at byte "
               "offset 0"},
        Misfit{"Alignment",
               [](Subject& s) {
                 s.spec.alignment = 64;
                 s.tensor.data = reinterpret_cast<void*>(260);
               },
               "ARGUMENT_ALIGNMENT",
               "float32[3, 64] on cpu:0 at 0x104, 4 bytes past a multiple of 64, expected "
               "float32[n, 64] on cpu, aligned to 64 bytes"},
        Misfit{"AlignmentOfTheFirstElement",
               [](Subject& s) {
                 s.spec.alignment = 64;
                 s.spec.has_offset = true;
                 s.tensor.byte_offset = 8;
               },
               "ARGUMENT_ALIGNMENT",
               "float32[3, 64] on cpu:0 at 0x108, 8 bytes past a multiple of 64, expected "
               "float32[n, 64] on cpu, aligned to 64 bytes"},
        Misfit{"AnyDtypeAndShape",
               [](Subject& s) {
                 s.spec = {};
                 s.tensor.device = gpu;
               },
               "ARGUMENT_DEVICE", "float32[3, 64] on cuda:1, expected any dtype[...] on cpu"},
        Misfit{"AnyExtentAndPlace",
               [](Subject& s) {
                 static constexpr Extent any[] = {'*', 1};
                 s.spec = {.shape = any, .place = TensorPlace::any};
               },
               "ARGUMENT_SHAPE", "float32[3, 64] on cpu:0, expected any dtype[*, 1]"}),
    [](const auto& test) { return test.param.name; });

TEST(TensorMatch, BindsExtentsByName) {
  Subject subject;

  EXPECT_EQ(subject.extents['n'], -1);
  ASSERT_TRUE(subject.match().ok());

  EXPECT_EQ(subject.extents['n'], 3);
  EXPECT_TRUE(subject.match().ok()) << "the same size again";
}

TEST(TensorMatch, BindsNothingAfterAMismatch) {
  Subject subject;
  subject.shape = {3, 65};

  ASSERT_FALSE(subject.match().ok());

  EXPECT_EQ(subject.extents['n'], -1);
}

TEST(TensorMatch, AcceptsStridesOfACompactTensor) {
  Subject subject;
  subject.strides = {64, 1};
  EXPECT_TRUE(subject.match().ok());

  subject.shape = {1, 64};
  subject.strides = {7, 1};
  subject.extents = Extents();
  EXPECT_TRUE(subject.match().ok()) << "the stride of one element is not used";

  subject.shape = {0, 64};
  subject.strides = {7, 7};
  subject.extents = Extents();
  EXPECT_TRUE(subject.match().ok()) << "no element is used";
}

TEST(TensorMatch, AcceptsStridesAndOffsetsWhereTheFunctionUsesThem) {
  Subject subject;
  subject.strides = {1, 3};
  subject.tensor.byte_offset = 128;
  subject.spec.has_strides = true;
  subject.spec.has_offset = true;
  subject.spec.alignment = 64;

  EXPECT_TRUE(subject.match().ok());
}

TEST(TensorMatch, AcceptsOneElementWithoutAShape) {
  Subject subject;
  subject.shape = {};
  subject.spec.shape = std::span<const Extent>();

  EXPECT_TRUE(subject.match().ok());
}

TEST(TensorMatch, AcceptsAnyHostDeviceNumber) {
  Subject subject;
  subject.tensor.device = {cpu_device_type, 3};

  EXPECT_TRUE(subject.match().ok());
}

TEST(TensorMatch, AcceptsEveryPlaceWhereAnyIsExpected) {
  Subject subject;
  subject.tensor.device = gpu;
  subject.spec.place = TensorPlace::any;

  EXPECT_TRUE(subject.match().ok());
}

}  // namespace
}  // namespace gantry
