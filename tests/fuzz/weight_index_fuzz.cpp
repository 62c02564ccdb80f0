// SPDX-License-Identifier: Apache-2.0
//
// The index of a directory of weights, its check, and the report of `inspect` about it.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/inspected.hpp"

#include "core/formats/inspect/weights.hpp"
#include "core/formats/weight_directory.hpp"

#include <gantry/dtype_text.hpp>

#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// No file is in it, so the reports contain no more than the index.
constexpr std::string_view absent_directory = "/proc/self/absent.weights";
// Elements are written for records up to this size.
constexpr std::uint64_t max_elements_bytes = 4096;

void expect_inside(const WeightShard& shard) {
  const std::filesystem::path path(shard.path);
  expect(!path.empty() && path.is_relative(), "the path of a shard is relative");
  for (const auto& part : path) expect(part != "..", "the path of a shard stays in the directory");
}

void expect_valid(const WeightShard& shard) {
  for (const WeightRecord& record : shard.records) {
    expect(record.begin <= shard.bytes && record.stored_bytes <= shard.bytes - record.begin,
           "a record is inside its shard");
    const auto bytes = tensor_bytes(record.shape, record.dtype);
    expect(bytes.ok(), "a record is a tensor");
    expect(*bytes == record.stored_bytes * (record.is_narrowed() ? 2 : 1),
           "a record has the bytes of its tensor");
    if (*bytes > max_elements_bytes) continue;
    const std::vector<std::uint8_t> stored(record.stored_bytes, 0x5a);
    // The sanitizer finds a byte that is written after the end.
    std::vector<std::uint8_t> elements(*bytes, 0xff);
    read_elements(record, stored, elements.data());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const bool is_lower_half = record.is_narrowed() && i % 4 < 2;
      expect(elements[i] == (is_lower_half ? 0 : 0x5a), "every byte of a tensor is written");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::optional<WeightIndex> index;
  {
    // An extent of two bytes is a value of 24 in the tree, whose list doubles when it grows.
    const Budget budget(size, {.bytes_per_input_byte = 48});
    auto parsed = parse_weight_index(text_of(data, size));
    if (!parsed.ok()) return expect_refusal(parsed.error(), size);
    for (const WeightShard& shard : parsed->shards) {
      expect_inside(shard);
      const Status checked = check_shard(shard);
      if (checked.ok()) {
        expect_valid(shard);
      } else {
        expect_refusal(checked.error(), size);
      }
    }
    index = std::move(*parsed);
  }
  // Shards are opened one by one; opening a file that is absent takes system calls for each part of
  // its path.
  const Budget budget(size, {.bytes_per_input_byte = 48, .nanoseconds_per_input_byte = 1000});
  write_whole(inspect_weights(
      {std::filesystem::path(absent_directory), "tensor-cache.json", std::move(*index)}));
  return 0;
}
