// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/packed/packed_lists.hpp"

#include "core/engine/native/packed/packed_call.hpp"
#include "tests/unit/native/list_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gantry::test {
namespace {

class PackedList : public ListTest {
 protected:
  // list[0] as an argument of CPU code.
  int code_of(Value value) {
    set_list_item(list, 0, std::move(value));
    EXPECT_EQ(list_set_packed_arg(list, 0, values, codes, 1), 0);
    return codes[1];
  }
  // Moves a value of CPU code to list[2].
  int move(PackedValue value, int code) {
    values[1] = value;
    codes[1] = code;
    return list_move_from_packed_return(list, 2, values, codes, 1);
  }
  static Value of(std::int32_t kind, std::int64_t bits) { return Value::adopt({kind, 0, {bits}}); }

  PackedValue values[2]{};
  int codes[2]{};
};

TEST_F(PackedList, PassesNumbersWithTheirCodes) {
  EXPECT_EQ(code_of({}), kPackedNull);
  EXPECT_EQ(code_of(of(GANTRY_INT, -7)), kPackedInt);
  EXPECT_EQ(values[1].i, -7);
  EXPECT_EQ(code_of(of(GANTRY_BOOL, 1)), kPackedInt);
  EXPECT_EQ(code_of(of(GANTRY_FLOAT, 0)), kPackedFloat);
  EXPECT_EQ(code_of(of(GANTRY_POINTER, 8)), kPackedHandle);
  EXPECT_EQ(code_of(of(GANTRY_DTYPE, 8)), kPackedDtype);
}

TEST_F(PackedList, PassesDevicesWithTheNumbersOfTheArtifact) {
  artifact->device_numbers = {{5, 100}};

  EXPECT_EQ(code_of(of(GANTRY_DEVICE, 100)), kPackedDevice);
  EXPECT_EQ(values[1].device.type, 5);
}

TEST_F(PackedList, PassesATensorByTheAddressOfItsDescription) {
  Value object = tensor();
  gantry_tensor* const described = gantry_value_tensor(&object.get());

  EXPECT_EQ(code_of(std::move(object)), kPackedNdArray);
  EXPECT_EQ(values[1].p, described);
  EXPECT_EQ(references(list[0]), 1u) << "an argument is borrowed";
}

TEST_F(PackedList, PassesObjectsByTheirAddress) {
  Value shape = owned_value(new_shape({}).value());
  gantry_object* const address = shape.get().object;

  EXPECT_EQ(code_of(std::move(shape)), kPackedObject);
  EXPECT_EQ(values[1].p, address);
  EXPECT_EQ(code_of(new_text(GANTRY_STRING, "longer than seven").value()), kPackedObject);
  EXPECT_EQ(code_of(owned_value(named_node("m"))), kPackedModule);
}

TEST_F(PackedList, PassesASmallTextInItsItem) {
  EXPECT_EQ(code_of(new_text(GANTRY_STRING, "small").value()), kPackedString);
  EXPECT_STREQ(values[1].s, "small");
  EXPECT_EQ(values[1].s, list[0].small);
}

TEST_F(PackedList, RejectsSmallBytes) {
  set_list_item(list, 0, new_text(GANTRY_BYTES, "small").value());

  EXPECT_EQ(list_set_packed_arg(list, 0, values, codes, 1), -1);
  EXPECT_EQ(here().error.code, Code::invalid);
  EXPECT_EQ(
      error(),
      "register 0 has bytes, which compiled code of TVM up to 0.20 cannot pass to a function");
}

TEST_F(PackedList, TakesNumbersAndNone) {
  set_list_item(list, 2, tensor());

  EXPECT_EQ(move({.i = 9}, kPackedInt), 0);
  EXPECT_EQ(list[2].kind, GANTRY_INT);
  EXPECT_EQ(list[2].i, 9);
  EXPECT_EQ(move({.i = 9}, kPackedNull), 0);
  EXPECT_EQ(list[2].kind, GANTRY_NONE);
}

TEST_F(PackedList, CopiesATextOfTheThread) {
  EXPECT_EQ(move({.s = "a text of a call"}, kPackedString), 0);

  EXPECT_EQ(text_of(list[2]), "a text of a call");
}

TEST_F(PackedList, TakesTheObjectOfACallFromTheThread) {
  here().kept = tensor();
  gantry_value& kept = const_cast<gantry_value&>(here().kept.get());

  EXPECT_EQ(move({.p = gantry_value_tensor(&kept)}, kPackedNdArray), 0);

  EXPECT_EQ(list[2].kind, GANTRY_TENSOR);
  EXPECT_EQ(references(list[2]), 1u);
  EXPECT_EQ(here().kept.get().kind, GANTRY_NONE);
}

TEST_F(PackedList, RetainsAnObjectOfAnotherItem) {
  Value shape = owned_value(new_shape({}).value());
  set_list_item(list, 0, shape);

  EXPECT_EQ(move({.p = shape.get().object}, kPackedObject), 0);

  EXPECT_EQ(references(shape.get()), 3u);
  EXPECT_EQ(reset_list_item(list, 2), 0);
  EXPECT_EQ(list[2].kind, GANTRY_NONE);
  EXPECT_EQ(references(shape.get()), 2u);
}

TEST_F(PackedList, KeepsItsItemIfAValueHasNoOwner) {
  set_list_item(list, 2, of(GANTRY_INT, 3));
  gantry_tensor tensor{};

  EXPECT_EQ(move({.p = &tensor}, kPackedTensor), -1);

  EXPECT_EQ(here().error.code, Code::unsupported);
  EXPECT_EQ(here().error.reason, "HOST_RESULT");
  EXPECT_EQ(error(),
            "it returns a value of type code 7 (a tensor), which only the runtime that created it "
            "can own");
  EXPECT_EQ(list[2].i, 3);
}

TEST_F(PackedList, RejectsAnObjectOfAnotherRuntime) {
  // an object of TVM, which begins with its number and its count of references
  std::uint64_t foreign[] = {std::uint64_t{1} << 32 | 70, 0x7f0012345678};

  EXPECT_EQ(move({.p = foreign}, kPackedObject), -1);
  EXPECT_EQ(error(),
            "it returns a value of type code 8, but the object is not one of this runtime");
  EXPECT_EQ(move({.p = nullptr}, kPackedNdArray), -1);
}

TEST(PackedListOutsideOfACall, IsRejected) {
  gantry_value item{};
  PackedValue value{};
  int code = kPackedNull;

  EXPECT_EQ(list_move_from_packed_return(&item, 0, &value, &code, 0), -1);
  EXPECT_EQ(here().error.code, Code::bug);
  EXPECT_EQ(here().error.message,
            "TVMBackendAnyListMoveFromPackedReturn is called on a thread that no gantry call has "
            "entered");
}

}  // namespace
}  // namespace gantry::test
