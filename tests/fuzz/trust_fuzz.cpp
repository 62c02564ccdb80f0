// SPDX-License-Identifier: Apache-2.0
//
// The text of a trust file, and of a lock file.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/plugins/trust/lock_file.hpp"
#include "core/plugins/trust/trust_file.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // As for the configuration, for two readers.
  const Budget budget(size, {.bytes_per_input_byte = 1024, .nanoseconds_per_input_byte = 3000});
  const std::string_view text = text_of(data, size);
  const auto trust = parse_trust_file(text, "trust.yaml");
  const auto lock = parse_lock_file(text, "plugins.lock");
  if (trust.ok()) {
    for (const TrustedKey& key : trust->keys) {
      expect(key.expires.empty() == !key.ends, "a date is an end");
      expect(trust->find(key.key.number) == &key, "numbers of keys are unique");
    }
  }
  if (lock.ok()) {
    const auto again = parse_lock_file(lock_file_text(*lock), "plugins.lock");
    expect(again.ok(), "what is written is read");
    expect(lock_file_text(*again) == lock_file_text(*lock), "what is read is what was written");
    return 0;
  }
  return trust.ok() ? 0 : expect_refusal(lock.error(), size);
}
