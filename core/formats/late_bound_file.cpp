// SPDX-License-Identifier: Apache-2.0
#include "core/formats/late_bound_file.hpp"

#include "core/base/output_file.hpp"
#include "core/formats/vm_constants.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/param_names.hpp>
#include <gantry/payload_writer.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <cstdint>
#include <string>

namespace gantry {
namespace {

Status read_arrays(LateBoundFile& to) {
  ByteReader in(to.file->bytes());
  GANTRY_TRY(const std::vector<std::string_view> names, read_param_names(in));
  for (const std::string_view name : names) {
    const std::string title = concat("parameter ", quoted(name));
    GANTRY_TRY(ArrayRecord array, read_array_record(in, title));
    if (Status checked = check_array_bytes(array); !checked.ok())
      return std::move(checked).error().at("in ", title);
    to.arrays.emplace_back(name, std::move(array));
  }
  return {};
}

void append_bytes(std::string& to, const PayloadWriter& from) {
  to.append(reinterpret_cast<const char*>(from.bytes().data()), from.bytes().size());
}

void append_record(std::string& to, const gantry_tensor& tensor, std::uint64_t bytes) {
  PayloadWriter head;
  head.Write(array_record_magic);
  head.Write(std::uint64_t{0});
  // device: the CPU
  head.Write(std::int32_t{1});
  head.Write(std::int32_t{0});
  head.Write(tensor.ndim);
  head.Write(tensor.dtype.code);
  head.Write(tensor.dtype.bits);
  head.Write(tensor.dtype.lanes);
  for (const std::int64_t extent : shape_of(tensor)) head.Write(extent);
  head.Write(bytes);
  append_bytes(to, head);
  to.append(static_cast<const char*>(tensor.data) + tensor.byte_offset, bytes);
}

}  // namespace

Result<LateBoundFile> read_late_bound_file(const std::filesystem::path& path) {
  LateBoundFile read;
  GANTRY_TRY(read.file, MappedFile::open(path));
  if (Status arrays = read_arrays(read); !arrays.ok())
    return std::move(arrays).error().at("in ", quoted(path.native()));
  return read;
}

Status write_late_bound_file(
    const std::filesystem::path& path,
    std::span<const std::pair<std::string_view, const gantry_tensor*>> tensors) {
  PayloadWriter head;
  head.Write(params_magic);
  head.Write(std::uint64_t{0});
  head.Write(std::uint64_t{tensors.size()});
  for (const auto& [name, tensor] : tensors) head.Write(name);
  head.Write(std::uint64_t{tensors.size()});
  std::string text;
  append_bytes(text, head);
  for (const auto& [name, tensor] : tensors) {
    GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(*tensor), tensor->dtype));
    append_record(text, *tensor, bytes);
  }
  GANTRY_TRY(OutputFile file, OutputFile::open(path, {}));
  GANTRY_CHECK(file.start());
  return file.finish(text);
}

}  // namespace gantry
