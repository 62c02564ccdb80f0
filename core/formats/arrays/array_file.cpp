// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/array_file.hpp"

#include "core/base/file_mark.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>

namespace gantry {

std::optional<ArrayFormat> array_format(std::span<const std::uint8_t> bytes) {
  const auto begins_with = [&](const void* magic, std::size_t size) {
    return bytes.size() >= size && std::memcmp(bytes.data(), magic, size) == 0;
  };
  if (begins_with(npy_magic.data(), npy_magic.size())) return ArrayFormat::npy;
  // A member, or the end record of an archive without members.
  const bool archive = begins_with("PK\3\4", 4) || begins_with("PK\5\6", 4);
  if (archive && !is_pytorch_archive(bytes)) return ArrayFormat::npz;
  if (begins_with(&params_magic, sizeof params_magic)) return ArrayFormat::params;
  return std::nullopt;
}

Result<ArrayFile> ArrayFile::parse(std::span<const std::uint8_t> bytes, const NpzLimits& limits,
                                   const MappedFile* mapped) {
  const std::optional<ArrayFormat> format = array_format(bytes);
  if (!format) {
    const auto first = bytes.first(std::min<std::size_t>(bytes.size(), 8));
    return malformed(
        0, "file begins with ",
        quoted(std::string_view(reinterpret_cast<const char*>(first.data()), first.size())),
        ", expected a file in the format .npy, .npz or .params", file_mark_text(bytes));
  }
  ArrayFile file(*format);
  switch (*format) {
    case ArrayFormat::npy: {
      GANTRY_TRY(ArrayRecord array, read_npy(bytes));
      file.arrays_.push_back({"", std::move(array)});
      break;
    }
    case ArrayFormat::npz: {
      GANTRY_TRY(file.npz_, NpzReader::over(bytes, limits, mapped));
      break;
    }
    case ArrayFormat::params: {
      GANTRY_TRY(file.arrays_, read_params(bytes));
      break;
    }
  }
  if (file.npz_) {
    for (const ZipMember& member : file.npz_->members()) {
      file.names_.push_back(member.name.substr(0, member.name.size() - npz_suffix.size()));
    }
  }
  for (const Param& array : file.arrays_) file.names_.push_back(array.name);
  for (std::size_t i = 0; i < file.names_.size(); ++i) file.by_name_.emplace(file.names_[i], i);
  return file;
}

std::string ArrayFile::names_text() const {
  return names_.empty() ? "none" : join(names_, ", ", in_quotes, 16);
}

Result<std::size_t> ArrayFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  return not_found("member ", quoted(name), " of the file not found; members: ", names_text());
}

Result<ArrayHeader> ArrayFile::header(std::size_t index) const {
  if (npz_) return npz_->header(npz_->members()[index]);
  const ArrayRecord& array = arrays_[index].array;
  return ArrayHeader{array.dtype, array.shape, array.data_at, array.data.size()};
}

Status ArrayFile::read_data(std::size_t index, const ArrayHeader& header,
                            std::span<std::uint8_t> to) const {
  if (npz_) return npz_->read_data(npz_->members()[index], header, to);
  std::ranges::copy(arrays_[index].array.data.first(to.size()), to.begin());
  return {};
}

Status ArrayFile::copy_data(std::size_t index, const ArrayHeader& header,
                            const std::function<void(std::span<const std::uint8_t>)>& sink) const {
  if (npz_) return npz_->copy_data(npz_->members()[index], header, sink);
  sink(arrays_[index].array.data);
  return {};
}

Result<std::optional<std::span<const std::uint8_t>>> ArrayFile::stored_data(
    std::size_t index, const ArrayHeader& header) const {
  if (npz_) return npz_->stored_data(npz_->members()[index], header);
  return std::optional(arrays_[index].array.data);
}

}  // namespace gantry
