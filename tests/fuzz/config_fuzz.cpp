// SPDX-License-Identifier: Apache-2.0
//
// The text of the runtime's configuration.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/engine/runtime/config.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A configuration is a local file of up to 64 KiB. A value of one character is a node of 130
  // bytes, twice while a list grows.
  const Budget budget(size, {.bytes_per_input_byte = 512, .nanoseconds_per_input_byte = 1500});
  const auto config = parse_config(text_of(data, size), "/etc/gantry/runtime.yaml");
  if (!config.ok()) return expect_refusal(config.error(), size);
  expect(config->threads >= 0 && config->threads <= kMaxThreads, "threads are in range");
  for (const std::string& path : config->manifests) expect(path[0] == '/', "paths are absolute");
  for (const std::string& path : config->dirs) expect(path[0] == '/', "paths are absolute");
  return 0;
}
