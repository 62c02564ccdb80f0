// SPDX-License-Identifier: Apache-2.0
//
// Runs the tests of the library that it is linked into.
#include <tvm/ffi/tvm_ffi.h>

#include <gtest/gtest.h>

#include <string>

// Of the library of tvm-ffi's tests, to which test_function.cc links.
extern "C" int TVMFFITestingDummyTarget() { return 0; }

namespace {

// filter   [in]   of GoogleTest
int64_t run_tests(tvm::ffi::String filter) {
  int count = 1;
  char program[] = "tests";
  char* arguments[] = {program, nullptr};
  testing::InitGoogleTest(&count, arguments);
  GTEST_FLAG_SET(filter, std::string(filter));
  if (RUN_ALL_TESTS() != 0) TVM_FFI_THROW(RuntimeError) << "tests have failed";
  return testing::UnitTest::GetInstance()->successful_test_count();
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_tests, run_tests);
