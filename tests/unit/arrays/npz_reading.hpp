// SPDX-License-Identifier: Apache-2.0
//
// Reads the arrays of zip archives that tests build.
#pragma once

#include "core/formats/arrays/npz.hpp"
#include "tests/unit/arrays/zip_bytes.hpp"

#include <string_view>
#include <vector>

namespace gantry::test {

// A file of uint8[data.size()].
inline Bytes npy(std::string_view data) {
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(data.size())};
  return npy_bytes({1, 8, 1}, shape, Bytes(data.begin(), data.end())).value();
}

inline std::vector<std::string_view> names_of(const NpzReader& npz) {
  std::vector<std::string_view> names;
  for (const ZipMember& member : npz.members()) names.push_back(member.name);
  return names;
}

inline Result<Bytes> read(const NpzReader& npz, const ZipMember& member) {
  GANTRY_TRY(const ArrayHeader header, npz.header(member));
  Bytes data(header.data_bytes);
  GANTRY_CHECK(npz.read_data(member, header, data));
  return data;
}

// The data of the first member.
inline Result<Bytes> read_first(std::span<const std::uint8_t> archive) {
  GANTRY_TRY(const NpzReader npz, NpzReader::over(archive));
  return read(npz, npz.members().front());
}

// uint8[0] as "a.npy", with wrong headers. The directory begins at 163.
inline ZipPart sized(std::uint16_t method, std::int64_t size, std::int64_t packed_size) {
  return {"a.npy", npy(""), method, 0, size, packed_size, -1};
}

}  // namespace gantry::test
