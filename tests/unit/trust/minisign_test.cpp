// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/minisign.hpp"

#include "core/base/process.hpp"
#include "core/base/text.hpp"
#include "tests/support/files.hpp"
#include "tests/support/minisign_signer.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::MinisignSigner;
using ::testing::HasSubstr;

// made with minisign 0.11 for a file with the content kSigned
constexpr std::string_view kSigned = "hello\n";
constexpr std::string_view kKey = "RWSyeR9L11T0HqMScDdsnqO2fIP9MYZKdGjXtIGn4dWS885oXit6q9Qm";
constexpr std::string_view kPrehashed =
    "untrusted comment: signature from minisign secret key\n"
    "RUSyeR9L11T0HhOKsIbpmfjuXF/ziyEJ+Cz21Ni1K8JVt7BjhZH+KLevzlFQ7XVV7nYI4HMRGjkhNXI0oRW9iexq72Oo"
    "neBSpg8=\n"
    "trusted comment: timestamp:1795488550\tfile:a.yaml\thashed\n"
    "XI626TlKO+n3aDSQi7lQRwxQ0oweNqeffg7Nk3/Xw+ez+DO0ZAs86/GgpEuwreO5/XmcrNaTl0WLu6mWGerAAg==\n";
constexpr std::string_view kLegacy =
    "untrusted comment: signature from minisign secret key\n"
    "RWSyeR9L11T0HgvFzkYcUkso5Gihdi79lt2GGpP6WfJWQbFrntDhSgVEhde4YrQLAPbuz9x3MyZ0On05rXlhTc8afa6U"
    "EeBNBwk=\n"
    "trusted comment: timestamp:1795488550\tfile:a.yaml\n"
    "FxhmJJGPeDnikvNu4nGpeTE02Pw2GZr7MWzXr8zjo0VVnE8YZQl3zhIhRpJ2i86fA5CpwEOliNL5e6pBmVjwAA==\n";

bool verifies(std::string_view signature, std::string_view key, std::string_view content) {
  const auto parsed = parse_minisign_signature(signature, "a.minisig");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(content.data());
  return gantry::verifies(*parsed, parse_minisign_key(key).value(), {bytes, content.size()});
}

TEST(Minisign, VerifiesBothAlgorithms) {
  EXPECT_TRUE(verifies(kPrehashed, kKey, kSigned));
  EXPECT_TRUE(verifies(kLegacy, kKey, kSigned));
  EXPECT_FALSE(verifies(kPrehashed, kKey, "Hello\n"));
  EXPECT_FALSE(verifies(kLegacy, kKey, "Hello\n"));
}

TEST(Minisign, RejectsAChangedTrustedComment) {
  for (const std::string_view signature : {kPrehashed, kLegacy}) {
    std::string changed(signature);
    changed.replace(changed.find("a.yaml"), 6, "b.yaml");
    EXPECT_FALSE(verifies(changed, kKey, kSigned));
  }
}

TEST(Minisign, RejectsTheSignatureOfAnotherKey) {
  EXPECT_FALSE(verifies(kPrehashed, MinisignSigner().public_key(), kSigned));
}

TEST(Minisign, RejectsEachChangedBitOfTheSignature) {
  const MinisignSignature whole = parse_minisign_signature(kPrehashed, "a").value();
  const MinisignKey key = parse_minisign_key(kKey).value();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(kSigned.data());
  for (std::size_t bit = 0; bit < 512; ++bit) {
    MinisignSignature changed = whole;
    changed.signature[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_FALSE(gantry::verifies(changed, key, {bytes, kSigned.size()})) << bit;
    changed = whole;
    changed.global_signature[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_FALSE(gantry::verifies(changed, key, {bytes, kSigned.size()})) << bit;
  }
}

TEST(Minisign, ShowsKeyNumbersAsTheProgramDoes) {
  EXPECT_EQ(text_of(parse_minisign_key(kKey)->number), "1EF454D74B1F79B2");
  EXPECT_EQ(text_of(parse_minisign_signature(kLegacy, "a")->number), "1EF454D74B1F79B2");
}

TEST(Minisign, AcceptsLinesThatEndWithCarriageReturns) {
  std::string lines;
  for (const char c : kPrehashed) lines += c == '\n' ? "\r\n" : std::string(1, c);

  EXPECT_TRUE(verifies(lines, kKey, kSigned));
}

TEST(MinisignSignature, RefusesEveryTruncation) {
  // The last line may lack its end.
  for (std::size_t size = 0; size + 1 < kPrehashed.size(); ++size) {
    EXPECT_FALSE(parse_minisign_signature(kPrehashed.substr(0, size), "a").ok()) << size;
  }
  EXPECT_TRUE(parse_minisign_signature(kPrehashed.substr(0, kPrehashed.size() - 1), "a").ok());
}

struct BadSignature {
  const char* name;
  // replaces the line with that number
  int line;
  std::string text;
  std::uint64_t offset;
  const char* message;
};
class MinisignRefuses : public testing::TestWithParam<BadSignature> {};

TEST_P(MinisignRefuses, AtTheWrongLine) {
  std::string text;
  int number = 0;
  for (std::size_t at = 0; at < kPrehashed.size();) {
    const std::size_t end = kPrehashed.find('\n', at) + 1;
    text += ++number == GetParam().line ? GetParam().text : std::string(kPrehashed, at, end - at);
    at = end;
  }
  if (GetParam().line > number) text += GetParam().text;

  const auto parsed = parse_minisign_signature(text, "a.minisig");

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, Code::malformed);
  EXPECT_EQ(parsed.error().reason, "SIGNATURE_INVALID");
  EXPECT_EQ(parsed.error().offset, GetParam().offset);
  EXPECT_EQ(parsed.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Each, MinisignRefuses,
    testing::Values(
        BadSignature{"NoComment", 1, "RUSy\n", 0,
                     "a.minisig: line 1 has no untrusted comment, expected \"untrusted comment: \" "
                     "at its beginning"},
        BadSignature{"LongComment", 1, "untrusted comment: " + std::string(8193, 'x') + "\n", 0,
                     "a.minisig: line 1 has 8193 bytes of untrusted comment, limit is 8192"},
        BadSignature{"ShortSignature", 2, "RUSy\n", 54,
                     "a.minisig: line 2 has 4 bytes, expected a signature: base64 of 74 bytes"},
        BadSignature{"NotBase64", 2, std::string(99, '!') + "=\n", 54,
                     "a.minisig: line 2 has 100 bytes, expected a signature: base64 of 74 bytes"},
        BadSignature{"Algorithm", 2, std::string(99, 'A') + "=\n", 54,
                     "a.minisig: line 2 has an unknown algorithm, expected Ed or ED"},
        BadSignature{"NoTrustedComment", 3, "comment: x\n", 155,
                     "a.minisig: line 3 has no trusted comment, expected \"trusted comment: \" at "
                     "its beginning"},
        BadSignature{"ShortGlobal", 4, "XI62\n", 212,
                     "a.minisig: line 4 has 4 bytes, expected a signature of the comment: base64 "
                     "of 64 bytes"},
        BadSignature{"MoreLines", 5, "more\n", 301,
                     "a.minisig: line 5 follows the last line of a signature"}),
    [](const auto& test) { return test.param.name; });

TEST(MinisignSignature, RefusesALargeFile) {
  const auto parsed = parse_minisign_signature(std::string(16385, 'x'), "a.minisig");

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message, "a.minisig: signature of 16385 bytes, limit is 16384");
}

TEST(MinisignKey, RefusesOtherTexts) {
  const std::string key(kKey);
  for (const std::string& text :
       {std::string(), key.substr(1), key + "A", "untrusted comment: x\n" + key,
        "RU" + key.substr(2), "A" + key.substr(1), key.substr(0, 55) + "!"}) {
    const auto parsed = parse_minisign_key(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("56 characters of base64 that begin with"));
  }
}

// The program itself is the oracle.
class MinisignProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("minisign", {}).ok()) GTEST_SKIP() << "minisign is not installed";
    test::write_file(dir_ / "a.yaml", kSigned);
  }
  std::string file(std::string_view name) const { return (dir_ / name).string(); }
  std::string text(std::string_view name) const {
    return std::string(as_text(test::read_file(dir_ / name)));
  }
  int run(std::vector<std::string> words) const {
    words.insert(words.begin(), "minisign");
    const auto end = run_program(words, dir_.path(), 4096);
    EXPECT_TRUE(end.ok());
    return end.ok() ? end->exit_status : -1;
  }

  test::TempDir dir_;
};

TEST_F(MinisignProgram, MakesSignaturesThatVerify) {
  ASSERT_EQ(run({"-G", "-W", "-p", file("k.pub"), "-s", file("k.key")}), 0);
  ASSERT_EQ(run({"-S", "-s", file("k.key"), "-m", file("a.yaml")}), 0);
  ASSERT_EQ(run({"-S", "-l", "-s", file("k.key"), "-m", file("a.yaml"), "-x", file("legacy")}), 0);
  const std::string lines = text("k.pub");
  const std::string key = lines.substr(lines.find('\n') + 1, 56);

  EXPECT_TRUE(verifies(text("a.yaml.minisig"), key, kSigned));
  EXPECT_TRUE(verifies(text("legacy"), key, kSigned));
  EXPECT_FALSE(verifies(text("legacy"), key, "other"));
}

TEST_F(MinisignProgram, VerifiesSignaturesOfTheTests) {
  const MinisignSigner signer;
  for (const bool prehashed : {false, true}) {
    test::write_file(dir_ / "a.yaml.minisig", signer.sign(kSigned, prehashed));

    EXPECT_EQ(run({"-V", "-P", signer.public_key(), "-m", file("a.yaml")}), 0) << prehashed;
    EXPECT_TRUE(verifies(text("a.yaml.minisig"), signer.public_key(), kSigned)) << prehashed;
  }
}

}  // namespace
}  // namespace gantry
