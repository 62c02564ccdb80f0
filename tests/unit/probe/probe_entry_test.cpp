// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_cache.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

ProbeEntry new_entry() {
  ProbeEntry entry;
  entry.host = "core 1";
  entry.boot = "boot 1";
  entry.files = {{"/a", 1, 2, 3, -4}, {"libmissing.so", 0, 0, 0, 0}};
  entry.end.outcome = ProbeOutcome::crashed;
  entry.end.stage = ProbeStage::create;
  entry.end.elapsed_ms = 12;
  entry.end.limit_ms = 5000;
  entry.end.signal = 11;
  entry.end.address = 16;
  entry.end.is_left = true;
  entry.end.last_lines = "a\nb";
  entry.strikes = 2;
  entry.time_s = 99;
  return entry;
}

std::span<const std::uint8_t> span_of(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

TEST(ProbeEntry, IsReadAsItIsWritten) {
  const ProbeEntry entry = new_entry();

  const auto read = read_probe_entry(span_of(to_bytes(entry)));

  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_bytes(*read), to_bytes(entry));
  EXPECT_EQ(read->files, entry.files);
  EXPECT_EQ(read->end.address, std::uint64_t{16});
  EXPECT_TRUE(read->end.is_left);
  EXPECT_EQ(read->strikes, 2u);
  EXPECT_EQ(read->time_s, 99);
}

TEST(ProbeEntry, RefusesEveryTruncation) {
  const std::string bytes = to_bytes(new_entry());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_probe_entry(span_of(bytes).first(size)).ok())
        << "accepted the first " << size << " bytes";
  }
}

TEST(ProbeEntry, RefusesBytesBehindTheLastFile) {
  const auto read = read_probe_entry(span_of(to_bytes(new_entry()) + "x"));

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "1 bytes follow the last file");
}

// A refusal depends on what is not in the key, for example on a device that is switched off.
TEST(ProbeEntry, RefusesARefusal) {
  ProbeEntry entry = new_entry();
  entry.end.outcome = ProbeOutcome::refused;

  EXPECT_FALSE(read_probe_entry(span_of(to_bytes(entry))).ok());
}

TEST(ProbeEntry, RefusesAnUnknownOutcomeOrStage) {
  ProbeEntry outcome = new_entry(), stage = new_entry();
  outcome.end.outcome = static_cast<ProbeOutcome>(kProbeOutcomes);
  stage.end.stage = static_cast<ProbeStage>(kProbeStages);

  EXPECT_FALSE(read_probe_entry(span_of(to_bytes(outcome))).ok());
  EXPECT_FALSE(read_probe_entry(span_of(to_bytes(stage))).ok());
}

TEST(ProbeLifetime, GrowsWithTheStrikes) {
  EXPECT_EQ(lifetime_s(1), 60);
  EXPECT_EQ(lifetime_s(2), 300);
  EXPECT_EQ(lifetime_s(3), std::nullopt);
  EXPECT_EQ(lifetime_s(UINT32_MAX), std::nullopt);
}

}  // namespace
}  // namespace gantry
