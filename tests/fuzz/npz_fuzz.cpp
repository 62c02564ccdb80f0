// SPDX-License-Identifier: Apache-2.0
//
// A zip archive of arrays: its directory, then every member unpacked.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/tensor/npz.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

constexpr std::uint64_t most_unpacked = 1 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Beside the directory: one member at a time, unpacked.
  const Budget budget(size, {.bytes_for_free = (std::size_t{1} << 20) + 2 * most_unpacked});
  auto reader = NpzReader::over({data, size}, {.members = 256, .bytes = most_unpacked});
  if (!reader.ok()) return expect_refusal(reader.error(), no_offset);
  std::uint64_t bytes = 0;
  for (const NpzMember& member : reader->members()) {
    bytes += member.bytes;
    const auto array = reader->read(member.name);
    if (array.ok()) {
      expect(array->array.data.size() <= member.bytes, "data lie in their member");
    } else {
      expect_refusal(array.error(), no_offset);
    }
  }
  expect(bytes <= most_unpacked, "members keep the limit together");
  return 0;
}
