// SPDX-License-Identifier: Apache-2.0
#include "core/pack/parameter_file.hpp"

#include "core/arrays/npz.hpp"
#include "core/arrays/params.hpp"

#include <algorithm>
#include <cstring>

namespace gantry {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<std::uint8_t>;
using Data = decltype(Parameter::data);

std::string names_of(const auto& all) {
  std::string names;
  for (const auto& one : all) names.append(names.empty() ? "" : ", ").append(one.name);
  return names.empty() ? "none" : names;
}

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

// The data as bytes in memory, for the moment.
Result<Bytes> bytes_of(const Data& data) {
  if (const auto* made = std::get_if<MadeBytes>(&data)) return made->make();
  if (const auto* range = std::get_if<FileRange>(&data)) {
    const auto view = range->file->bytes().subspan(range->at, range->size);
    return Bytes(view.begin(), view.end());
  }
  const std::string& text = std::get<std::string>(data);
  return Bytes(text.begin(), text.end());
}

Status transpose(Parameter& parameter) {
  if (parameter.shape.size() != 2) {
    return invalid("array is ", type_text({parameter.dtype, parameter.shape}),
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

// One of the three kinds, by its first bytes.
struct ParameterFiles::File {
  std::shared_ptr<const MappedFile> mapped;
  std::optional<NpyArray> npy;
  std::shared_ptr<NpzReader> npz;
  std::vector<Param> params;

  static Result<File> open(const fs::path& path) {
    File file;
    GANTRY_TRY(file.mapped, MappedFile::open(path));
    const auto begins = [&](std::string_view magic) {
      const auto first = file.mapped->bytes();
      return first.size() >= magic.size() &&
             std::memcmp(first.data(), magic.data(), magic.size()) == 0;
    };
    if (begins("\x93NUMPY")) {
      GANTRY_TRY(file.npy, read_npy(file.mapped->bytes()));
    } else if (begins("PK")) {
      GANTRY_TRY(NpzReader reader, NpzReader::open(path));
      file.npz = std::make_shared<NpzReader>(std::move(reader));
    } else if (begins({reinterpret_cast<const char*>(&params_magic), sizeof params_magic})) {
      GANTRY_TRY(file.params, read_params(file.mapped->bytes()));
    } else {
      return malformed(0, "file is none of .npy, .npz and .params");
    }
    return file;
  }

  Result<Parameter> find(const std::string& member) const {
    if (npy) {
      if (!member.empty()) {
        return invalid("member ", quoted(member), " is wanted, a .npy file has none");
      }
      return described(npy->dtype, npy->shape, npy->data_at, npy->data.size());
    }
    if (member.empty()) return invalid("no member is named, the file has ", member_names());
    if (npz) return find_packed(member);
    const auto found = std::find_if(params.begin(), params.end(),
                                    [&](const Param& p) { return p.name == member; });
    if (found == params.end()) {
      return not_found("member ", quoted(member), " is not there, the file has ", member_names());
    }
    const ArrayRecord& array = found->array;
    return described(array.dtype, array.shape, array.data_at, array.data.size());
  }

 private:
  std::string member_names() const { return npz ? names_of(npz->members()) : names_of(params); }

  Parameter described(gantry_dtype dtype, std::vector<std::int64_t> shape, std::uint64_t at,
                      std::uint64_t size) const {
    return {{}, dtype, std::move(shape), FileRange{mapped, at, size}};
  }

  // Unpacked now for what it is, and again for its data when they are written.
  Result<Parameter> find_packed(const std::string& member) const {
    GANTRY_TRY(const NpzArray found, npz->read(member));
    const auto make = [reader = npz, member]() -> Result<Bytes> {
      GANTRY_TRY(const NpzArray again, reader->read(member));
      return Bytes(again.array.data.begin(), again.array.data.end());
    };
    return Parameter{
        {}, found.array.dtype, found.array.shape, MadeBytes{found.array.data.size(), make}};
  }
};

Result<const ParameterFiles::File*> ParameterFiles::open(const fs::path& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second.get();
  GANTRY_TRY(File file, File::open(path));
  const auto made = files_.emplace(path, std::make_shared<const File>(std::move(file)));
  return made.first->second.get();
}

Result<Parameter> ParameterFiles::find(const ParameterSource& source) {
  const auto find_and_check = [&]() -> Result<Parameter> {
    GANTRY_TRY(const File* const file, open(source.file));
    GANTRY_TRY(Parameter parameter, file->find(source.member));
    parameter.name = source.name;
    if (source.transpose) GANTRY_CHECK(transpose(parameter));
    const TensorType type{parameter.dtype, parameter.shape};
    if (source.type && !same_type(*source.type, type)) {
      return invalid("array is ", type_text(type), ", the recipe says ", type_text(*source.type));
    }
    return parameter;
  };
  Result<Parameter> found = find_and_check();
  if (!found.ok()) found.error().at("in ", source.file.native()).at("for ", source.location);
  return found;
}

}  // namespace gantry
