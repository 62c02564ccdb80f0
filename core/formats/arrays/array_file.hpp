// SPDX-License-Identifier: Apache-2.0
//
// A file of named arrays in any of the formats .npy, .npz and .params. The entry point of this
// component:
//
//     GANTRY_TRY(const ArrayFile file, ArrayFile::parse(bytes));
//     GANTRY_TRY(const std::size_t index, file.find("w0"));
//     GANTRY_TRY(const ArrayHeader header, file.header(index));
//     std::vector<std::uint8_t> data(header.data_bytes);
//     GANTRY_CHECK(file.read_data(index, header, data));
#pragma once

#include "core/formats/arrays/npy.hpp"
#include "core/formats/arrays/npz.hpp"
#include "core/formats/arrays/params.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class ArrayFormat { npy, npz, params };

// Returns the format that a file's first bytes identify; nullopt if they identify none.
std::optional<ArrayFormat> array_format(std::span<const std::uint8_t> bytes);

class ArrayFile {
 public:
  // Reads the file's structure, not its data.
  //
  // returns  malformed if array_format() returns none; as read_npy(), NpzReader::over(),
  //          read_params()
  // mapped   [in]   as `file` of NpzReader::over()
  // lifetime `bytes` and `mapped` must outlive this object
  // thread   any
  static Result<ArrayFile> parse(std::span<const std::uint8_t> bytes, const NpzLimits& limits = {},
                                 const MappedFile* mapped = nullptr);

  ArrayFormat format() const { return format_; }

  // In the file's order. The only array of an .npy file has an empty name.
  const std::vector<std::string_view>& names() const { return names_; }

  // Returns at most 16 names for a message.
  std::string names_text() const;

  // returns  the index in names(); not_found with names_text()
  // costs    O(log arrays)
  Result<std::size_t> find(std::string_view name) const;

  // returns  as NpzReader::header()
  Result<ArrayHeader> header(std::size_t index) const;

  // Copies or decompresses the data of an array.
  //
  // header   [in]   of this array, from header()
  // to       [out]  header.data_bytes bytes; undefined after a failure
  // returns  as NpzReader::read_data()
  Status read_data(std::size_t index, const ArrayHeader& header, std::span<std::uint8_t> to) const;

  // As read_data(), in parts; see NpzReader::copy_data().
  Status copy_data(std::size_t index, const ArrayHeader& header,
                   const std::function<void(std::span<const std::uint8_t>)>& sink) const;

  // Returns the data as a view of the file's bytes; nullopt if they are compressed.
  //
  // header   [in]   of this array, from header()
  // returns  as NpzReader::stored_data()
  Result<std::optional<std::span<const std::uint8_t>>> stored_data(std::size_t index,
                                                                   const ArrayHeader& header) const;

 private:
  explicit ArrayFile(ArrayFormat format) : format_(format) {}

  ArrayFormat format_;
  // arrays of an .npy or .params file
  std::vector<Param> arrays_;
  std::optional<NpzReader> npz_;
  std::vector<std::string_view> names_;
  std::map<std::string_view, std::size_t> by_name_;
};

}  // namespace gantry
