// SPDX-License-Identifier: Apache-2.0
//
// Directories of weights for tests.
#pragma once

#include "tests/support/files.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace gantry::test {

// Two shards: "a" is float32[3] as raw data, "b" is float32[4] without the lower halves.
inline const std::string small_index = R"({"metadata": {}, "records": [
  {"dataPath": "s0.bin", "format": "raw-shard", "nbytes": 12, "records": [
    {"name": "a", "shape": [3], "dtype": "float32", "format": "raw", "nbytes": 12, "byteOffset": 0}]},
  {"dataPath": "s1.bin", "format": "raw-shard", "nbytes": 8, "records": [
    {"name": "b", "shape": [4], "dtype": "float32", "format": "f32-to-bf16", "nbytes": 8, "byteOffset": 0}
  ]}]})";

// Writes the directory of an index: s0.bin contains the bytes 1 to 12, s1.bin the bytes 1 to 8.
inline void write_weights(const std::filesystem::path& directory, std::string_view index,
                          std::string_view index_name = "tensor-cache.json") {
  constexpr std::uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::filesystem::create_directories(directory);
  write_file(directory / index_name, index);
  write_file(directory / "s0.bin", std::span(bytes));
  write_file(directory / "s1.bin", std::span(bytes).first(8));
}

}  // namespace gantry::test
