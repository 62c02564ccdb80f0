// SPDX-License-Identifier: Apache-2.0
#include <gantry/library.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace gantry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Every host that can run this test has libm.
Library math() { return std::move(Library::open("math library", {"libm.so.6"})).value(); }

TEST(Library, OpensTheFirstNameThatOpens) {
  const Result<Library> library =
      Library::open("math library", {"libgantry_absent.so.1", "libm.so.6"});

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ(library->name(), "libm.so.6");
}

TEST(Library, ReportsEveryNameWithTheLinkersMessage) {
  const Result<Library> library =
      Library::open("NPU driver", {"libgantry_absent.so.1", "libgantry_absent.so"});

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::unavailable);
  EXPECT_EQ(library.error().reason, "DRIVER_MISSING");
  EXPECT_THAT(library.error().message,
              StartsWith("NPU driver is missing, tried 2 names\n    libgantry_absent.so.1: "));
  EXPECT_THAT(library.error().message, HasSubstr("\n    libgantry_absent.so: "));
  EXPECT_THAT(library.error().message, HasSubstr("No such file or directory"));
}

TEST(Library, BindsFunctionsThatCanBeCalled) {
  double (*cosine)(double) = nullptr;
  int (*absent)(int) = [](int) { return 1; };

  const Status bound = math().bind({required("cos", cosine), optional("gantry_absent", absent)});

  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_EQ(absent, nullptr);
}

TEST(Library, NamesEveryRequiredFunctionThatIsMissing) {
  double (*cosine)(double) = nullptr;
  void (*first)() = nullptr;
  void (*second)() = nullptr;
  void (*third)() = nullptr;

  const Status bound =
      math().bind({required("gantry_first", first), required("cos", cosine),
                   optional("gantry_second", second), required("gantry_third", third)});

  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code, Code::unavailable);
  EXPECT_EQ(bound.error().reason, "DRIVER_SYMBOL");
  EXPECT_EQ(bound.error().message,
            "math library in libm.so.6 lacks 2 of 4 functions: gantry_first, gantry_third");
  EXPECT_EQ(cosine, nullptr);
}

TEST(Library, FindsOneSymbol) {
  EXPECT_NE(math().find("sin"), nullptr);
  EXPECT_EQ(math().find("gantry_absent"), nullptr);
}

}  // namespace
}  // namespace gantry
