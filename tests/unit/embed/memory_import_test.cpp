// SPDX-License-Identifier: Apache-2.0
//
// Tensors over memory that another interface has allocated.
#include "tests/unit/embed/embedded.hpp"

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;

class MemoryImport : public test::Embedded {
 protected:
  Status import(std::int32_t kind, const gantry_tensor& what, std::uint64_t size,
                std::uint64_t offset = 0) {
    const gantry_external memory{sizeof memory, kind, elements.data(), -1, offset, size};
    return done([&](gantry_status* status) {
      return embed().memory_import(
          runtime.get(), &memory, &what, &destroyed, [](void* self) { ++*static_cast<int*>(self); },
          &made, status);
    });
  }
  gantry_tensor like() { return test::tensor_of(elements, shape); }

  std::vector<float> elements = std::vector<float>(24);
  std::vector<std::int64_t> shape{2, 3};
  int destroyed = 0;
  gantry_value made{};
};

TEST_F(MemoryImport, OfHostMemoryOnTheCpuIsATensorOverIt) {
  expect_ok(import(GANTRY_EXTERNAL_HOST, like(), 24, 8));
  Value tensor = Value::adopt(made);

  EXPECT_EQ(tensor.tensor()->data, elements.data() + 2);
  EXPECT_EQ(tensor_text(*tensor.tensor()), "float32[2, 3]");
  EXPECT_EQ(destroyed, 0);
  tensor = Value();
  EXPECT_EQ(destroyed, 1);
}

TEST_F(MemoryImport, OfOtherKindsOnTheCpuIsRefused) {
  constexpr std::int32_t kinds[] = {0, GANTRY_EXTERNAL_FD, GANTRY_EXTERNAL_NATIVE, 99};
  for (const std::int32_t kind : kinds) {
    expect_error(import(kind, like(), 24), Code::unsupported, "EXTERNAL_KIND",
                 concat("device cpu does not import external memory of kind ", kind));
  }
  EXPECT_EQ(destroyed, 0);
}

TEST_F(MemoryImport, OfElementsOutsideOfTheMemoryIsRefused) {
  gantry_tensor what = like();
  expect_error(import(GANTRY_EXTERNAL_HOST, what, 23), Code::invalid, "ARGUMENT_RANGE",
               "memory_import: the elements of float32[2, 3] with byte offset 0 are not within the "
               "memory of 23 bytes");
  what.byte_offset = 4;
  EXPECT_EQ(import(GANTRY_EXTERNAL_HOST, what, 24).error().reason, "ARGUMENT_RANGE");
  const std::int64_t strides[] = {1, 2};
  what.strides = const_cast<std::int64_t*>(strides);
  EXPECT_EQ(import(GANTRY_EXTERNAL_HOST, what, 48).error().reason, "ARGUMENT_STRIDES");
  what = like();
  what.device = {63, 0};
  EXPECT_EQ(import(GANTRY_EXTERNAL_HOST, what, 24).error().code, Code::not_found);
  EXPECT_EQ(destroyed, 0);
}

}  // namespace
}  // namespace gantry
