// SPDX-License-Identifier: Apache-2.0
//
// One array of a file, with its data.
#pragma once

#include "core/formats/arrays/array_file.hpp"
#include "tests/support/files.hpp"

#include <cstring>
#include <vector>

namespace gantry::test {

struct ArrayValue {
  ArrayHeader header;
  std::vector<std::uint8_t> data;
};

inline Result<ArrayValue> read_array(std::span<const std::uint8_t> bytes, std::string_view name) {
  GANTRY_TRY(const ArrayFile file, ArrayFile::parse(bytes));
  GANTRY_TRY(const std::size_t index, file.find(name));
  ArrayValue array;
  GANTRY_TRY(array.header, file.header(index));
  array.data.resize(array.header.data_bytes);
  GANTRY_CHECK(file.read_data(index, array.header, array.data));
  return array;
}

// Aborts the test program where the array cannot be read.
inline ArrayValue array_in(const std::filesystem::path& path, std::string_view name) {
  return read_array(read_file(path), name).value();
}

inline std::vector<float> floats_in(const std::filesystem::path& path, std::string_view name) {
  const ArrayValue array = array_in(path, name);
  std::vector<float> values(array.data.size() / sizeof(float));
  std::memcpy(values.data(), array.data.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace gantry::test
