// SPDX-License-Identifier: Apache-2.0
//
// A signature file, and the public keys of a trust file.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/plugins/trust/minisign.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const std::string_view text = text_of(data, size);
  if (const auto key = parse_minisign_key(text); key.ok())
    expect(size == 56, "a key has one spelling");
  const auto signature = parse_minisign_signature(text, "a.minisig");
  if (!signature.ok()) return expect_refusal(signature.error(), size);
  expect(size <= kMaxMinisignFile, "the size of a file is limited");
  expect(signature->trusted_comment.size() <= kMaxMinisignComment, "comments are limited");
  expect(signature->trusted_comment.find('\n') == std::string::npos, "a comment is one line");
  expect(!verifies(*signature, MinisignKey{}, {data, size}), "no file contains its signature");
  return 0;
}
