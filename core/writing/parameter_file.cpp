// SPDX-License-Identifier: Apache-2.0
#include "core/writing/parameter_file.hpp"

#include "core/formats/arrays/array_file.hpp"

#include <dmlc/memory_io.h>

#include <cstring>

namespace gantry {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<std::uint8_t>;
using Data = decltype(Parameter::data);

// Element (row, column) of the result is element (column, row) of `from`, which has `rows` rows.
Bytes transposed(std::span<const std::uint8_t> from, std::size_t rows, std::size_t columns) {
  Bytes to(from.size());
  if (from.empty()) return to;
  const std::size_t element = from.size() / rows / columns;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      std::memcpy(to.data() + (column * rows + row) * element,
                  from.data() + (row * columns + column) * element, element);
    }
  }
  return to;
}

// Returns a copy of the data in memory.
Result<Bytes> bytes_of(const Data& data) {
  if (const auto* made = std::get_if<MadeBytes>(&data)) return made->make();
  if (const auto* streamed = std::get_if<StreamedBytes>(&data)) {
    Bytes bytes(streamed->size);
    dmlc::MemoryFixedSizeStream out(bytes.data(), bytes.size());
    GANTRY_CHECK(streamed->write(out));
    return bytes;
  }
  if (const auto* range = std::get_if<FileRange>(&data)) {
    const auto view = range->file->bytes().subspan(range->at, range->size);
    return Bytes(view.begin(), view.end());
  }
  const std::string& text = std::get<std::string>(data);
  return Bytes(text.begin(), text.end());
}

Status transpose(Parameter& parameter) {
  if (parameter.shape.size() != 2) {
    return invalid("array is ", type_text(parameter.dtype, parameter.shape),
                   ", only a matrix can be transposed");
  }
  const auto rows = static_cast<std::size_t>(parameter.shape[0]);
  const auto columns = static_cast<std::size_t>(parameter.shape[1]);
  std::swap(parameter.shape[0], parameter.shape[1]);
  const std::uint64_t size = data_bytes(parameter);
  parameter.data =
      MadeBytes{size, [data = std::move(parameter.data), rows, columns]() -> Result<Bytes> {
                  GANTRY_TRY(const Bytes bytes, bytes_of(data));
                  return transposed(bytes, rows, columns);
                }};
  return {};
}

}  // namespace

struct ParameterFiles::File {
  std::shared_ptr<const MappedFile> mapped;
  // views the bytes of `mapped`
  ArrayFile arrays;
};

Result<std::shared_ptr<const ParameterFiles::File>> ParameterFiles::open(const fs::path& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  GANTRY_TRY(auto mapped, MappedFile::open(path));
  GANTRY_TRY(ArrayFile arrays, ArrayFile::parse(mapped->bytes(), {}, mapped.get()));
  const auto file = std::make_shared<const File>(File{std::move(mapped), std::move(arrays)});
  files_.emplace(path, file);
  return file;
}

// Data that are not compressed stay in the file; others are unpacked when they are written.
Result<Parameter> ParameterFiles::find_member(const std::shared_ptr<const File>& file,
                                              const std::string& member) {
  const ArrayFile& arrays = file->arrays;
  if (arrays.format() == ArrayFormat::npy && !member.empty()) {
    return invalid("member ", quoted(member), " is named, an .npy file has no members");
  }
  if (arrays.format() != ArrayFormat::npy && member.empty()) {
    return invalid("no member is named, the file has ", arrays.names_text());
  }
  GANTRY_TRY(const std::size_t index, arrays.find(member));
  GANTRY_TRY(const ArrayHeader header, arrays.header(index));
  GANTRY_TRY(const auto stored, arrays.stored_data(index, header));
  Parameter parameter{{}, header.dtype, header.shape, {}};
  if (stored) {
    const auto at = static_cast<std::uint64_t>(stored->data() - file->mapped->bytes().data());
    parameter.data = FileRange{file->mapped, at, stored->size()};
  } else {
    parameter.data =
        StreamedBytes{header.data_bytes, [file, index, header](dmlc::Stream& out) -> Status {
                        const auto write = [&](std::span<const std::uint8_t> part) {
                          out.Write(part.data(), part.size());
                        };
                        Status copied = file->arrays.copy_data(index, header, write);
                        if (copied.ok()) return {};
                        return std::move(copied).failure().at("in ", file->mapped->path().native());
                      }};
  }
  return parameter;
}

Result<std::vector<ParameterSource>> ParameterFiles::all_of(const ParameterSource& source) {
  const auto list = [&]() -> Result<std::vector<ParameterSource>> {
    GANTRY_TRY(const auto file, open(source.file));
    if (file->arrays.format() == ArrayFormat::npy) {
      return invalid("an .npy file has an array without a name; list it under parameters");
    }
    std::vector<ParameterSource> all;
    for (const std::string_view name : file->arrays.names()) {
      ParameterSource each = source;
      each.name = each.member = name;
      all.push_back(std::move(each));
    }
    return all;
  };
  auto all = list();
  if (!all.ok()) all.error().at("in ", source.file.native()).at("for ", source.location);
  return all;
}

Result<Parameter> ParameterFiles::find(const ParameterSource& source) {
  const auto find_and_check = [&]() -> Result<Parameter> {
    GANTRY_TRY(const auto file, open(source.file));
    GANTRY_TRY(Parameter parameter, find_member(file, source.member));
    parameter.name = source.name;
    parameter.location = source.location;
    if (source.transpose) GANTRY_CHECK(transpose(parameter));
    const TensorType type{parameter.dtype, parameter.shape};
    if (source.type && !same_type(*source.type, type)) {
      return invalid("array is ", type_text(type), ", the recipe requires ",
                     type_text(*source.type));
    }
    return parameter;
  };
  Result<Parameter> found = find_and_check();
  if (!found.ok()) found.error().at("in ", source.file.native()).at("for ", source.location);
  return found;
}

}  // namespace gantry
