// SPDX-License-Identifier: Apache-2.0
//
// Host code where it is unusual.
#include "tests/support/built_runtime.hpp"
#include "tests/support/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace gantry {
namespace {

// The system refuses absolute paths of more than PATH_MAX bytes.
TEST(HostCode, LoadsByARelativeNameBelowADeepDirectory) {
  const test::TempDir directory;
  const auto library = test::read_file(test::golden("tvm-0.25/axpy2_llvm.so"));
  const std::string name(200, 'd');
  const int before = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::chdir(directory.path().c_str()), 0);
  bool is_deep = true;
  for (int i = 0; i < 25; ++i)
    is_deep = is_deep && ::mkdir(name.c_str(), 0700) == 0 && ::chdir(name.c_str()) == 0;
  test::write_file("axpy2.so", library);
  Runtime runtime = test::new_runtime();

  const auto module = runtime.load("axpy2.so");

  ASSERT_EQ(::fchdir(before), 0);
  ::close(before);
  EXPECT_TRUE(is_deep);
  EXPECT_TRUE(module.ok()) << module.error().message;
}

}  // namespace
}  // namespace gantry
