// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions that are compiled into a C program.
#include "tests/unit/embed/call_from_c.h"
#include "tests/unit/embed/embedded.hpp"

#include <gantry/kind_text.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;
using ::testing::ElementsAre;

class EmbedCall : public test::Embedded {
 protected:
  Status divide(std::int64_t dividend, std::int64_t divisor, std::int64_t& quotient) const {
    return done([&](gantry_status* status) {
      return quotient_from_c(&embed(), runtime.get(), dividend, divisor, &quotient, status);
    });
  }
};

TEST_F(EmbedCall, FromCReachesAFunctionOfC) {
  std::int64_t quotient = 0;

  expect_ok(divide(42, 6, quotient));

  EXPECT_EQ(quotient, 7);
}

TEST_F(EmbedCall, FromCReportsTheErrorOfTheFunction) {
  std::int64_t quotient = 5;

  const Status status = divide(42, 0, quotient);

  expect_error(status, Code::invalid, "ZERO", "divided by 0");
  EXPECT_EQ(quotient, 5);
}

TEST_F(EmbedCall, FromCRunsCompiledCode) {
  const ObjectRef module =
      test::load(runtime, test::golden("tvm-0.12/axpy2_llvm.so").string()).value();
  gantry_object* found = nullptr;
  ASSERT_EQ(host->find(host, module.get(), GANTRY_FIND_SELF, gantry_text("axpy2"), &found, nullptr),
            GANTRY_OK);
  const ObjectRef function = ObjectRef::adopt(found);
  const std::int64_t shape[] = {1024};
  std::vector<float> a(1024, 1.0f), b(1024, 2.0f), sum(1024);
  gantry_tensor tensors[] = {test::tensor_of(a, shape), test::tensor_of(b, shape),
                             test::tensor_of(sum, shape)};
  std::vector<gantry_value> args;
  for (gantry_tensor& tensor : tensors) args.push_back(tensor_ref_value(&tensor));
  gantry_value through_host{}, result{};

  const Status expected = done([&](gantry_status* status) {
    return host->call(host, found, nullptr, args.data(), 3, &through_host, status);
  });
  const std::vector<float> wanted = sum;
  sum.assign(1024, 0.0f);
  const Status called = done([&](gantry_status* status) {
    return call_from_c(host, found, args.data(), 3, &result, status);
  });

  expect_ok(expected);
  expect_ok(called);
  EXPECT_EQ(sum, wanted);
  EXPECT_NE(sum[1023], 0.0f);
}

TEST_F(EmbedCall, FromCRefusesNullAndOtherObjects) {
  for (gantry_object* const other : {static_cast<gantry_object*>(nullptr), runtime.get()}) {
    gantry_value result{};
    expect_error(done([&](gantry_status* status) {
                   return call_from_c(host, other, nullptr, 0, &result, status);
                 }),
                 Code::invalid, "ARGUMENT_KIND", "call: the object is not a function");
  }
}

TEST_F(EmbedCall, RefusesValuesAtAddress0) {
  const ObjectRef module =
      test::load(runtime, test::golden("tvm-0.12/axpy2_llvm.so").string()).value();
  gantry_object* found = nullptr;
  ASSERT_EQ(host->find(host, module.get(), GANTRY_FIND_SELF, gantry_text("axpy2"), &found, nullptr),
            GANTRY_OK);
  const ObjectRef function = ObjectRef::adopt(found);
  for (const std::int32_t kind : {GANTRY_TENSOR_REF, GANTRY_CSTRING, GANTRY_BYTES_REF,
                                  GANTRY_STRING, GANTRY_TENSOR, GANTRY_ARRAY}) {
    gantry_value args[] = {int_value(1), {}, int_value(1)}, result{};
    args[1].kind = kind;
    expect_error(done([&](gantry_status* status) {
                   return embed().call(found, nullptr, args, 3, &result, status);
                 }),
                 Code::invalid, "ARGUMENT_KIND",
                 concat("call: args[1] is ", kind_text(kind), " at address 0"));
  }
}

}  // namespace
}  // namespace gantry
