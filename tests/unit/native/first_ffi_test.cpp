// SPDX-License-Identifier: Apache-2.0
//
// Objects of this runtime in code of TVM 0.21, which knows other numbers and a shorter header.
#include "core/engine/native/ffi/ffi_functions.hpp"
#include "core/engine/native/ffi/ffi_values.hpp"
#include "tests/unit/native/list_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gantry::test {
namespace {

// The layout of a text object in TVM 0.21.
struct FirstText {
  std::int32_t number, references;
  void* deleter;
  const char* data;
  std::uint64_t size;
};
static_assert(sizeof(FirstText) == 32);

gantry_code give_first(void*, const gantry_env*, const gantry_value* args, std::int32_t count,
                       gantry_value* result, gantry_status*) {
  if (count > 0) *result = args[0];
  if (holds_object(*result)) gantry_retain(result->object);
  return GANTRY_OK;
}
constexpr gantry_function_table give_first_table{sizeof(gantry_function_table), 0, nullptr,
                                                 give_first};

class FirstFfi : public ListTest {
 protected:
  FirstFfi() { artifact->container.facts.dialect = Dialect::ffi_0_21; }
  ~FirstFfi() override { here().kept = {}; }
  // list[0] as an argument of CPU code.
  gantry_value argument(Value value) {
    set_list_item(list, 0, std::move(value));
    gantry_value args[1]{};
    EXPECT_EQ(ffi::first_list_set_packed_arg(list, 0, args, 0), 0);
    return args[0];
  }
  // Moves a value of CPU code to list[1].
  int move(const gantry_value& value) {
    gantry_value args[] = {value};
    return ffi::first_list_move_from_packed_return(list, 1, args, 0);
  }
};

TEST_F(FirstFfi, FindsATensorBehindItsShorterHeader) {
  Value object = tensor();
  const gantry_tensor* const described = gantry_value_tensor(&object.get());

  const gantry_value arg = argument(std::move(object));

  EXPECT_EQ(arg.kind, 72);
  EXPECT_EQ(static_cast<const void*>(static_cast<const char*>(arg.p) + 16), described);
  EXPECT_EQ(references(list[0]), 1u) << "an argument is borrowed";
}

TEST_F(FirstFfi, FindsTheContentOfATextAndOfAShape) {
  const gantry_value text = argument(new_text(GANTRY_STRING, "longer than seven").value());
  EXPECT_EQ(text.kind, 65);
  EXPECT_STREQ(static_cast<const FirstText*>(text.p)->data, "longer than seven");
  EXPECT_EQ(static_cast<const FirstText*>(text.p)->size, 17u);

  const std::int64_t dims[] = {7, 9};
  const gantry_value shape = argument(owned_value(new_shape(dims).value()));
  EXPECT_EQ(shape.kind, 71);
  gantry_shape content{};
  std::memcpy(&content, static_cast<const char*>(shape.p) + 16, sizeof content);
  EXPECT_EQ(content.dims[1], 9);
}

TEST_F(FirstFfi, ReadsASmallTextInItsItem) {
  const gantry_value text = argument(new_text(GANTRY_STRING, "small").value());

  EXPECT_EQ(text.kind, GANTRY_CSTRING);
  EXPECT_EQ(text.cstring, list[0].small);
  EXPECT_STREQ(text.cstring, "small");
}

// Each kind of object, and back.
TEST_F(FirstFfi, PutsObjectsBackIntoAList) {
  Value objects[] = {tensor(),
                     owned_value(new_shape({}).value()),
                     new_text(GANTRY_STRING, "longer than seven").value(),
                     new_text(GANTRY_BYTES, "longer than seven").value(),
                     owned_value(new_items(GANTRY_ARRAY, {}).value()),
                     owned_value(new_items(GANTRY_MAP, {}).value()),
                     owned_value(named_node("m"))};
  constexpr std::int32_t numbers[] = {72, 71, 65, 66, 69, 70, 73};
  for (std::size_t i = 0; i < std::size(objects); ++i) {
    gantry_retain(objects[i].get().object);
    const gantry_value owned = ffi::to_first_ffi(objects[i].get());
    EXPECT_EQ(owned.kind, numbers[i]);

    EXPECT_EQ(move(owned), 0) << error();

    EXPECT_EQ(list[1].kind, objects[i].get().kind);
    EXPECT_EQ(list[1].object, objects[i].get().object);
    EXPECT_EQ(references(list[1]), 2u);
    EXPECT_EQ(reset_list_item(list, 1), 0);
    EXPECT_EQ(references(objects[i].get()), 1u);
  }
}

TEST_F(FirstFfi, CopiesATextByAddressIntoAList) {
  EXPECT_EQ(move(text_value("a text by address")), 0);

  EXPECT_EQ(text_of(list[1]), "a text by address");
}

TEST_F(FirstFfi, KeepsObjectsOfItsOwnOutOfLists) {
  FirstText text{65, 1, &text, "text", 4};
  list[1] = int_value(3);
  for (const std::int32_t number : {64, 65, 66, 69, 70, 71, 72, 73}) {
    text.number = number;
    gantry_value value{number, 0, {}};
    value.p = &text;

    EXPECT_EQ(move(value), -1) << number;

    EXPECT_EQ(here().error.code, Code::unsupported);
    EXPECT_EQ(here().error.reason, "HOST_RESULT");
    EXPECT_EQ(error(), concat("register 1 receives an object of type number ", number,
                              ", which is not one of this runtime"));
    EXPECT_EQ(list[1].i, 3);
  }
}

TEST_F(FirstFfi, KeepsValuesWithoutOwnerOutOfLists) {
  gantry_tensor tensor{};

  EXPECT_EQ(move(tensor_ref_value(&tensor)), -1);

  EXPECT_EQ(error(), "register 1 receives a tensor, which has no owner");
}

TEST_F(FirstFfi, PassesItsObjectsToFunctions) {
  const auto function = new_function({nullptr, &give_first_table}, {}, 0).value();
  const Value object = tensor();
  const gantry_value arg = argument(object);
  gantry_value result{};

  ASSERT_EQ(ffi::first_function_call(function.get(), &arg, 1, &result), 0) << error();

  EXPECT_EQ(result.kind, 72);
  EXPECT_EQ(references(object.get()), 3u);
  EXPECT_EQ(move(result), 0);
  EXPECT_EQ(list[1].object, object.get().object);
}

TEST_F(FirstFfi, ReceivesASmallTextByAddress) {
  static constexpr gantry_function_table small_table{
      sizeof(gantry_function_table), 0, nullptr,
      [](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
         gantry_status*) -> gantry_code {
        *result = new_text(GANTRY_STRING, "small").value().take();
        return GANTRY_OK;
      }};
  const auto function = new_function({nullptr, &small_table}, {}, 0).value();
  gantry_value result{};

  ASSERT_EQ(ffi::first_function_call(function.get(), nullptr, 0, &result), 0) << error();

  EXPECT_EQ(result.kind, GANTRY_CSTRING);
  EXPECT_STREQ(result.cstring, "small");
}

TEST_F(FirstFfi, PassesNoObjectsOfItsOwnToFunctions) {
  const auto function = new_function({nullptr, &give_first_table}, {}, 0).value();
  FirstText text{65, 1, &text, "text", 4};
  gantry_value arg{65, 0, {}}, result{};
  arg.p = &text;

  EXPECT_EQ(ffi::first_function_call(function.get(), &arg, 1, &result), -1);

  EXPECT_EQ(here().error.code, Code::invalid);
  EXPECT_EQ(here().error.reason, "ARGUMENT_KIND");
  EXPECT_EQ(error(), "argument 0 has type number 65 and is not an object of this runtime");
}

// Code of later releases has the numbers of this runtime.
TEST_F(FirstFfi, ChangesNothingForCodeOfLaterReleases) {
  artifact->container.facts.dialect = Dialect::ffi;
  set_list_item(list, 0, tensor());
  gantry_value args[] = {{}, text_value("a text by address")};

  EXPECT_EQ(ffi::list_set_packed_arg(list, 0, args, 0), 0);

  EXPECT_EQ(args[0].kind, GANTRY_TENSOR);
  EXPECT_EQ(args[0].object, list[0].object);
  EXPECT_EQ(ffi::list_move_from_packed_return(list, 1, args, 1), -1);
  EXPECT_EQ(error(), "register 1 receives a string, which has no owner");
}

}  // namespace
}  // namespace gantry::test
