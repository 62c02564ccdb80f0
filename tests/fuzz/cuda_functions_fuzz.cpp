// SPDX-License-Identifier: Apache-2.0
//
// Calls of the functions of NVIDIA's libraries, which gantry.cuda-libraries opens: fakes of them, on the fake driver,
// whose memory is that of the host.
#include "plugins/cuda_libraries/plugin.hpp"
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fake_gpu.hpp"
#include "tests/fuzz/function_calls.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// The fakes keep the work of each call for graphs.
constexpr Cost cost{.bytes_per_input_byte = 32 * 1024,
                    .bytes_for_free = std::size_t{16} << 20,
                    .nanoseconds_per_input_byte = 500'000,
                    .nanoseconds_for_free = 50'000'000};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, cost);
  FunctionCalls<cuda_libraries::Plugin, OnFakeGpu>({data, size}).run();
  return 0;
}
