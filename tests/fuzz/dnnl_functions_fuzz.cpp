// SPDX-License-Identifier: Apache-2.0
//
// Calls of tvm.contrib.dnnl.*, which gantry.dnnl computes with oneDNN.
#include "plugins/dnnl/plugin.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/function_calls.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// oneDNN generates the code of each convolution and of each kind of product.
constexpr Cost cost{.bytes_per_input_byte = 64 * 1024,
                    .bytes_for_free = std::size_t{16} << 20,
                    .nanoseconds_per_input_byte = 500'000,
                    .nanoseconds_for_free = 50'000'000};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, cost);
  FunctionCalls<dnnl_plugin::Plugin>({data, size}).run();
  return 0;
}
