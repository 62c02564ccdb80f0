// SPDX-License-Identifier: Apache-2.0
#include "parameter_file.hpp"

#include "core/base/mapped_file.hpp"
#include "core/base/output_file.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/param_names.hpp>
#include <gantry/payload_writer.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <filesystem>
#include <string>

namespace gantry::relay {
namespace {

Result<std::vector<Loaded::Named>> read_parameters(const Host& host,
                                                   std::span<const std::uint8_t> bytes,
                                                   const gantry_env* env) {
  ByteReader in(bytes);
  GANTRY_TRY(const std::vector<std::string_view> names, read_param_names(in));
  std::vector<Loaded::Named> tensors;
  for (const std::string_view name : names) {
    GANTRY_TRY(const ArrayRecord array, read_array_record(in, concat("parameter ", quoted(name))));
    const gantry_tensor from =
        compact_tensor(array.dtype, array.shape, {cpu_device_type, 0}, array.data.data());
    GANTRY_TRY(Value copy, host.tensor_copied(from, {cpu_device_type, 0}, env));
    tensors.emplace_back(name, std::move(copy));
  }
  return tensors;
}

void write_record(PayloadWriter& out, const gantry_tensor& tensor, std::uint64_t bytes) {
  out.Write(array_record_magic);
  out.Write(std::uint64_t{0});
  out.Write(std::int32_t{cpu_device_type});
  out.Write(std::int32_t{0});
  out.Write(tensor.ndim);
  out.Write(tensor.dtype.code);
  out.Write(tensor.dtype.bits);
  out.Write(tensor.dtype.lanes);
  for (const std::int64_t extent : shape_of(tensor)) out.Write(extent);
  out.Write(bytes);
}

}  // namespace

Result<std::vector<Loaded::Named>> read_parameter_file(const Host& host, std::string_view path,
                                                       const gantry_env* env) {
  GANTRY_TRY(const auto file, MappedFile::open(std::filesystem::path(path)));
  auto tensors = read_parameters(host, file->bytes(), env);
  if (!tensors.ok()) return std::move(tensors).failure().at("in ", quoted(path));
  return tensors;
}

Status write_parameter_file(std::string_view path, const std::vector<Loaded::Named>& tensors) {
  PayloadWriter head;
  head.Write(params_magic);
  head.Write(std::uint64_t{0});
  head.Write(std::uint64_t{tensors.size()});
  for (const auto& [name, tensor] : tensors) head.Write(name);
  head.Write(std::uint64_t{tensors.size()});
  std::string text(reinterpret_cast<const char*>(head.bytes().data()), head.bytes().size());
  for (const auto& [name, value] : tensors) {
    const gantry_tensor& tensor = *value.tensor();
    GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(tensor), tensor.dtype));
    PayloadWriter record;
    write_record(record, tensor, bytes);
    text.append(reinterpret_cast<const char*>(record.bytes().data()), record.bytes().size());
    text.append(static_cast<const char*>(tensor.data) + tensor.byte_offset, bytes);
  }
  GANTRY_TRY(OutputFile file, OutputFile::open(std::filesystem::path(path), {}));
  GANTRY_CHECK(file.start());
  return file.finish(text);
}

}  // namespace gantry::relay
