// SPDX-License-Identifier: Apache-2.0
//
// The texts of checks that TVM compiles into kernels, and errors of runs that they explain.
#include "plugins/relay_vm/kernel_check.hpp"

#include "tests/unit/relay_vm/fixture.hpp"

#include <string>

namespace gantry::relay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What is expected, and of which argument: "0: float32"; empty: no such text.
std::string read(const std::string& text) {
  const auto check = read_kernel_check(text);
  return check ? concat(check->argument, ": ", check->expected) : std::string();
}

TEST(KernelCheckText, StatesArgumentAndExpectation) {
  EXPECT_EQ(read("Assert fail: 2 == T.tvm_struct_get(arg_p0, 0, 4, \"int32\"), arg.p0.ndim is "
                 "expected to equal 2\n  in host function \"f\""),
            "0: 2 dimensions");
  EXPECT_EQ(
      read("Assert fail: (1 == tvm_struct_get(arg1, 0, 4)), arg1.ndim is expected to equal 1"),
      "1: 1 dimension");
  EXPECT_EQ(read("Assert fail: T.tvm_struct_get(arg_p12, 0, 5, \"uint8\") == T.uint8(2), "
                 "arg.p12.dtype is expected to be float32"),
            "12: float32");
  EXPECT_EQ(read("Assert fail: T.Cast(\"int32\", arg_p0_shape[1]) == 64, Argument arg.p0.shape[1] "
                 "has an unsatisfied constraint: 64 == T.Cast(\"int32\", arg_p0_shape[1])"),
            "0: extent 64 in dimension 1");
  EXPECT_EQ(read("Assert fail: (1 == int32(arg0.shape[0])), Argument arg0.shape[0] has an "
                 "unsatisfied constraint: (1 == int32(arg0.shape[0]))"),
            "0: extent 1 in dimension 0");
}

TEST(KernelCheckText, OfAnotherKindIsNone) {
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("out of memory"), "");
  EXPECT_EQ(read("Assert fail: 2 == x, arg.T_add.ndim is expected to equal 2"), "");
  EXPECT_EQ(read("Assert fail: 2 == x, arg.p0.ndim is expected to equal "), "");
  EXPECT_EQ(read("Assert fail: dev_id == 1, Argument arg.p1.device_id has an unsatisfied "
                 "constraint: dev_id == 1"),
            "");
  EXPECT_EQ(
      read("Assert fail: n == 1, Argument arg.p1.shape[0] has an unsatisfied constraint: n == "
           "arg.p1.shape[0]"),
      "");
  EXPECT_EQ(read(".ndim is expected to equal 2"), "");
  EXPECT_EQ(read(" arg.p99999999999999999999.ndim is expected to equal 2"), "");
}

class RelayKernelCheck : public MachineTest {
 protected:
  // main(x, y) calls checked(y, x, out), whose check has this text.
  Error failed(const std::string& check) {
    fake.add_function("checked", [check](const gantry_env*, std::span<const gantry_value>,
                                         gantry_value*, gantry_status* status) {
      return gantry_fail(status, GANTRY_INVALID, "TEST", check.c_str());
    });
    code = RelayAssembler();
    const auto checked = code.packed("checked");
    code.function("main", {"x", "y"}, 9);
    code.tensor(dtypes::float32, {2}, 16, 2, 5);
    code.move(0, 6);
    code.invoke_packed(checked, {1, 6, 5});
    code.ret(5);
    start();
    return error_of("main", {floats({1, 2}), floats({1, 2, 3})});
  }
};

TEST_F(RelayKernelCheck, OfAnInputNamesItWithWhatIsFoundAndExpected) {
  const std::string check = "Assert fail: n, arg.p1.ndim is expected to equal 3";

  const Error error = failed(check);

  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.reason, "ARGUMENT_SHAPE");
  EXPECT_THAT(text(error), StartsWith("input \"x\" of function \"main\" is float32[2], expected 3 "
                                      "dimensions\n  " +
                                      check + "\n  in instruction "));
}

TEST_F(RelayKernelCheck, OfADataTypeHasItsReason) {
  const Error error = failed("Assert fail: t, arg.p0.dtype is expected to be int8");

  EXPECT_EQ(error.reason, "ARGUMENT_DTYPE");
  EXPECT_THAT(text(error),
              StartsWith("input \"y\" of function \"main\" is float32[3], expected int8\n"));
}

TEST_F(RelayKernelCheck, OfAnotherTensorListsTheInputsOfTheCall) {
  const Error error = failed("Assert fail: n, arg.p2.ndim is expected to equal 3");

  EXPECT_EQ(error.reason, "TEST");
  EXPECT_THAT(text(error), StartsWith("Assert fail: n, arg.p2.ndim is expected to equal 3\n"));
  EXPECT_THAT(text(error), HasSubstr("\n  argument 0 is input \"y\", float32[3]\n  argument 1 is "
                                     "input \"x\", float32[2]\n  in instruction "));
}

}  // namespace
}  // namespace gantry::relay::test
