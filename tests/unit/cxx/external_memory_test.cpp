// SPDX-License-Identifier: Apache-2.0
#include <gantry/external_memory.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace gantry {
namespace {

gantry_external descriptor(std::int64_t fd) {
  return {sizeof(gantry_external), GANTRY_EXTERNAL_FD, nullptr, fd, 0, 4};
}

TEST(ExternalRange, HasAtLeastOneByte) {
  for (const auto& [offset, size] :
       {std::pair<std::uint64_t, std::uint64_t>{0, 0}, {8, UINT64_MAX - 7}, {UINT64_MAX, 1}}) {
    const gantry_external what{sizeof what, GANTRY_EXTERNAL_FD, nullptr, 0, offset, size};

    const Status checked = check_external_range(what);

    ASSERT_FALSE(checked.ok()) << offset;
    EXPECT_EQ(checked.error().code, Code::invalid);
    EXPECT_EQ(checked.error().reason, "ARGUMENT_RANGE");
    EXPECT_EQ(checked.error().message, concat("external memory of ", ByteCount(size), " at offset ",
                                              offset, ", expected at least 1 byte"));
  }
  EXPECT_TRUE(check_external_range({0, 0, nullptr, 0, 8, UINT64_MAX - 8}).ok());
}

TEST(ExternalDescriptor, IsCopiedAndClosedInAChildThatExecs) {
  const Descriptor file(::memfd_create("external", 0));
  int number = 0;
  {
    const Descriptor copy = copy_of_descriptor(descriptor(file.get())).value();
    number = copy.get();

    EXPECT_NE(number, file.get());
    EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
  EXPECT_NE(::fcntl(file.get(), F_GETFD), -1);
}

// The last one is 0 as an int.
TEST(ExternalDescriptor, IsAnOpenOne) {
  Descriptor file(::memfd_create("external", MFD_CLOEXEC));
  const int closed = file.get();
  file.close();
  for (const std::int64_t number :
       {std::int64_t{closed}, std::int64_t{-1}, std::int64_t{1} << 32}) {
    const auto copy = copy_of_descriptor(descriptor(number));

    ASSERT_FALSE(copy.ok()) << number;
    EXPECT_EQ(copy.error().code, Code::invalid);
    EXPECT_EQ(copy.error().reason, "ARGUMENT");
    EXPECT_EQ(copy.error().message,
              concat("descriptor ", number, " of external memory is not open"));
  }
}

TEST(ExternalDescriptor, IsNotCopiedAtTheLimitOfOpenFiles) {
  const Descriptor file(::memfd_create("external", MFD_CLOEXEC));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  // The file has the lowest number that was free, so all up to it are in use.
  none.rlim_cur = static_cast<rlim_t>(file.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);

  const auto copy = copy_of_descriptor(descriptor(file.get()));

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.error().code, Code::exhausted);
  EXPECT_EQ(copy.error().reason, "MEMORY");
  EXPECT_EQ(copy.error().message,
            concat("descriptor ", file.get(),
                   " of external memory cannot be copied: ", "Too many open files"));
}

}  // namespace
}  // namespace gantry
