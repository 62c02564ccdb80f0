// SPDX-License-Identifier: Apache-2.0
//
// Tensors over memory of the program.
#include "tests/unit/embed/embedded.hpp"

#include <gmock/gmock.h>

#include <ostream>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;

class ForeignTensor : public test::Embedded {
 protected:
  // Makes a tensor over `elements`.
  Status make(const gantry_tensor& what, std::uint64_t size, std::uint32_t flags = 0) {
    return done([&](gantry_status* status) {
      return embed().tensor_foreign(
          runtime.get(), &what, size, flags, &destroyed,
          [](void* self) { ++*static_cast<int*>(self); }, &made, status);
    });
  }

  std::vector<float> elements = std::vector<float>(24);
  std::vector<std::int64_t> shape{2, 3};
  int destroyed = 0;
  gantry_value made{};
};

TEST_F(ForeignTensor, UsesTheMemoryAndDestroysItOnce) {
  expect_ok(make(test::tensor_of(elements, shape), 24));
  Value first = Value::adopt(made);
  EXPECT_EQ(first.tensor()->data, elements.data());
  shape.clear();
  EXPECT_EQ(tensor_text(*first.tensor()), "float32[2, 3]");
  gantry_value out{};
  ASSERT_EQ(host->tensor_view(host, first.tensor(), first.object(), 0, &out, nullptr), GANTRY_OK);
  Value view = Value::adopt(out);

  first = Value();
  EXPECT_EQ(destroyed, 0);
  view = Value();
  EXPECT_EQ(destroyed, 1);
}

// Strides count elements, which are no addresses here.
TEST_F(ForeignTensor, OfElementsBelowAByteIsPackedAndCompact) {
  gantry_tensor what = test::tensor_of(elements, shape);
  what.dtype = {0, 4, 1};

  expect_error(make(what, 2), Code::invalid, "ARGUMENT_RANGE",
               "tensor_foreign: the elements of int4[2, 3] with byte offset 0 are not within the "
               "memory of 2 bytes");
  std::int64_t compact[] = {3, 1}, transposed[] = {1, 2};
  what.strides = compact;
  expect_ok(make(what, 3));
  (void)Value::adopt(made);
  what.strides = transposed;
  expect_error(make(what, 96), Code::unsupported, "DTYPE_PACKED",
               "tensor int4[2, 3] has strides, and its elements begin within bytes: only compact "
               "ones are supported");
}

TEST_F(ForeignTensor, MayOutliveItsRuntimeHandle) {
  expect_ok(make(test::tensor_of(elements, shape), 24));
  const Value tensor = Value::adopt(made);

  runtime = ObjectRef();

  EXPECT_EQ(tensor_text(*tensor.tensor()), "float32[2, 3]");
}

TEST_F(ForeignTensor, MayThrowWhereItIsDestroyed) {
  const gantry_tensor what = test::tensor_of(elements, shape);
  ASSERT_EQ(embed().tensor_foreign(
                runtime.get(), &what, 24, 0, nullptr, [](void*) { throw 1; }, &made, nullptr),
            GANTRY_OK);
  ::testing::internal::CaptureStderr();

  gantry_release(made.object);

  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("destroy of a memory of tensor_foreign throws: "));
}

TEST_F(ForeignTensor, NeedsNoDestroy) {
  const gantry_tensor what = test::tensor_of(elements, shape);

  expect_ok(done([&](gantry_status* status) {
    return embed().tensor_foreign(runtime.get(), &what, 24, 0, nullptr, nullptr, &made, status);
  }));

  const Value owned = Value::adopt(made);
}

struct ExtentCase {
  std::string name;
  std::vector<std::int64_t> shape, strides;
  std::uint64_t offset, size;
  bool fits;
};
void PrintTo(const ExtentCase& extent, std::ostream* out) { *out << extent.name; }

class ForeignExtent : public ForeignTensor, public ::testing::WithParamInterface<ExtentCase> {};

TEST_P(ForeignExtent, IsWithinTheMemory) {
  ExtentCase extent = GetParam();
  gantry_tensor what = test::tensor_of(elements, extent.shape);
  if (!extent.strides.empty()) what.strides = extent.strides.data();
  what.byte_offset = extent.offset;

  const Status status = make(what, extent.size);

  if (extent.fits) {
    expect_ok(status);
    const Value owned = Value::adopt(made);
    return;
  }
  expect_error(status, Code::invalid, "ARGUMENT_RANGE",
               concat("tensor_foreign: the elements of ", tensor_text(what), " with byte offset ",
                      extent.offset, " are not within the memory of ", extent.size, " bytes"));
  EXPECT_EQ(made.kind, GANTRY_NONE);
  EXPECT_EQ(destroyed, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, ForeignExtent,
    ::testing::Values(ExtentCase{"Exact", {2, 3}, {}, 0, 24, true},
                      ExtentCase{"OneByteShort", {2, 3}, {}, 0, 23, false},
                      ExtentCase{"WithAnOffset", {2, 3}, {}, 4, 28, true},
                      ExtentCase{"OffsetTooFar", {2, 3}, {}, 8, 28, false},
                      ExtentCase{"OffsetPastTheEnd", {2, 3}, {}, 32, 28, false},
                      ExtentCase{"Empty", {0, 3}, {}, 64, 0, true},
                      ExtentCase{"Columns", {3, 2}, {1, 3}, 0, 24, true},
                      ExtentCase{"ColumnsShort", {3, 2}, {1, 3}, 0, 23, false},
                      ExtentCase{"StrideOfOneElement", {1, 2}, {INT64_MAX, 1}, 0, 8, true},
                      ExtentCase{"Broadcast", {1000, 2}, {0, 1}, 0, 8, true},
                      ExtentCase{"Backwards", {2, 2}, {-2, 1}, 8, 96, false},
                      ExtentCase{"Overflow", {3, 2}, {INT64_MAX, 1}, 0, 96, false}),
    [](const auto& test) { return test.param.name; });

TEST_F(ForeignTensor, RefusesADeviceThatIsNotThere) {
  gantry_tensor what = test::tensor_of(elements, shape);
  what.device = {1, 5};

  const Status status = make(what, 24);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::not_found);
  EXPECT_EQ(destroyed, 0);
}

TEST_F(ForeignTensor, RefusesFlags) {
  expect_error(make(test::tensor_of(elements, shape), 24, 1), Code::unsupported, "FLAGS",
               "tensor_foreign: flags are 0x1, this version has 0x0");
  EXPECT_EQ(destroyed, 0);
}

TEST_F(ForeignTensor, RefusesAShapeThatIsNone) {
  gantry_tensor what = test::tensor_of(elements, shape);
  what.ndim = -1;

  const Status status = make(what, 24);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "tensor rank is -1, minimum is 0");
  EXPECT_EQ(destroyed, 0);
}

TEST_F(ForeignTensor, RefusesMemoryAtAddressZero) {
  gantry_tensor what = test::tensor_of(elements, shape);
  what.data = nullptr;

  const Status status = make(what, 24);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "tensor view of 24 bytes is at address 0");
  EXPECT_EQ(destroyed, 0);
}

}  // namespace
}  // namespace gantry
