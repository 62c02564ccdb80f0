// SPDX-License-Identifier: Apache-2.0
//
// The memory of a graph with large parameters: the file's own pages where they are aligned.
#include "core/formats/type_key.hpp"

#include "tests/support/aligned_bytes.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/large_graph.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::anonymous_bytes;
using test::Words;

// Returns the anonymous memory from the load to the first output.
std::int64_t bytes_to_first_output(bool is_aligned) {
  Words payload = test::payload_of_large_graph();
  if (is_aligned) {
    // After the length of the container, the count of entries and the key.
    const std::uint64_t at = 8 + 8 + 8 + graph_factory_key.size();
    payload = Words().bytes(
        test::aligned(graph_factory_key, payload.bytes(), Numbering::packed, at).value());
  }
  const std::string file = test::link_large_graph(payload);
  Runtime runtime = test::new_runtime(test::built_plugins_only("graph"));

  const std::int64_t before = test::anonymous_bytes_in_use();
  EXPECT_GT(before, 0) << "/proc/self/smaps_rollup has no line Anonymous";
  const Module model = runtime.load(file).value();
  auto executor = Executor::create(runtime, model, {"cpu"});
  EXPECT_TRUE(executor.ok()) << executor.error().message;
  EXPECT_TRUE(executor->run().ok());
  const Tensor output = executor->output(0).value();
  EXPECT_EQ(*static_cast<const float*>(output.data()), 0.25f * test::large_model_bytes / 4);
  const std::int64_t bytes = anonymous_bytes() - before;
  std::printf("[          ] %lld bytes of anonymous memory, parameters have %lld\n",
              static_cast<long long>(bytes), static_cast<long long>(test::large_model_bytes));
  return bytes;
}

TEST(GraphParameters, AreNotCopiedFromAnAlignedPayload) {
  EXPECT_LT(bytes_to_first_output(true), test::max_bytes_in_place);
}

TEST(GraphParameters, AreCopiedFromAPayloadThatIsNotAligned) {
  EXPECT_GE(bytes_to_first_output(false), test::min_bytes_of_copies);
}

}  // namespace
}  // namespace gantry
