// SPDX-License-Identifier: Apache-2.0
//
// Calls of all functions of gantry.contrib.
#include "plugins/contrib/plugin.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/function_calls.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// A call of a few bytes makes tensors of some KiB, sorts them and prints them as texts.
constexpr Cost cost{.bytes_per_input_byte = 16 * 1024,
                    .bytes_for_free = std::size_t{16} << 20,
                    .nanoseconds_per_input_byte = 250'000,
                    .nanoseconds_for_free = 20'000'000};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, cost);
  FunctionCalls<contrib::Plugin>({data, size}, 0).run();
  return 0;
}
