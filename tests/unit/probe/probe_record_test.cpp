// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_record.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

namespace gantry {
namespace {

TEST(ProbeRecords, AreReadInPieces) {
  const Error error = Error(Code::exhausted, Message("no memory")).with_reason("MEMORY");
  const std::string all = stage_record(ProbeStage::create) + refused_record(error);
  ProbeRecords records;

  for (const char byte : all) records.add({&byte, 1});

  EXPECT_EQ(records.stage, ProbeStage::create);
  EXPECT_TRUE(records.refused);
  EXPECT_EQ(records.code, static_cast<std::uint32_t>(Code::exhausted));
  EXPECT_EQ(records.reason, "MEMORY");
  EXPECT_EQ(records.text, "no memory");
  EXPECT_FALSE(records.passed);
  EXPECT_FALSE(records.malformed);
}

TEST(ProbeRecords, HaveTheAddressOfAFault) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  write_fault_record(ends[1], 11, reinterpret_cast<const void*>(0x1c40));
  char bytes[64];
  const ssize_t size = read(ends[0], bytes, sizeof bytes);
  close(ends[0]);
  close(ends[1]);
  ASSERT_GT(size, 0);
  ProbeRecords records;

  records.add({bytes, static_cast<std::size_t>(size)});

  EXPECT_EQ(records.fault_signal, 11);
  EXPECT_EQ(records.fault_address, std::uint64_t{0x1c40});
}

// The plugin can write a second one.
TEST(ProbeRecords, KeepTheFirstDigestOfOptions) {
  ProbeRecords records;

  records.add(options_record(7));
  records.add(options_record(8));

  EXPECT_EQ(records.options, std::uint64_t{7});
}

std::string numbered(std::uint32_t size, std::string rest) {
  return ByteText().number(size).bytes() + std::move(rest);
}

struct BadRecord {
  std::string name, bytes;
};
void PrintTo(const BadRecord& bad, std::ostream* out) { *out << bad.name; }

class ProbeRecordsRefuse : public ::testing::TestWithParam<BadRecord> {};

TEST_P(ProbeRecordsRefuse, BytesOfAnyPlugin) {
  ProbeRecords records;
  records.add(stage_record(ProbeStage::query));

  records.add(GetParam().bytes);
  records.add(passed_record());

  EXPECT_TRUE(records.malformed);
  EXPECT_FALSE(records.passed);
  EXPECT_EQ(records.stage, ProbeStage::query);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProbeRecordsRefuse,
    ::testing::Values(
        BadRecord{"NoKind", numbered(0, "")}, BadRecord{"UnknownKind", numbered(1, "\x09")},
        BadRecord{"TooLarge", numbered(kMaxProbeRecord + 1, "\x01")},
        BadRecord{"UnknownStage", numbered(2, "\x01\x07")},
        BadRecord{"StageMissing", numbered(1, "\x01")},
        BadRecord{"OptionsCut", numbered(3, std::string("\x05\x01\0", 3))},
        BadRecord{"TextPastTheEnd",
                  numbered(13, std::string("\x03\x04\0\0\0\xff\0\0\0\0\0\0\0", 13))},
        BadRecord{"UnknownCode",
                  numbered(21, std::string("\x03\x63\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21))}),
    [](const auto& test) { return test.param.name; });

TEST(ProbeRecords, AreBounded) {
  ProbeRecords records;
  for (std::size_t i = 0; i <= kMaxProbeRecords / 6 + 1; ++i)
    records.add(stage_record(ProbeStage::open));

  records.add(passed_record());

  EXPECT_TRUE(records.malformed);
  EXPECT_FALSE(records.passed);
}

}  // namespace
}  // namespace gantry
