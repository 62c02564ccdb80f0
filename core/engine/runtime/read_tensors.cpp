// SPDX-License-Identifier: Apache-2.0
//
// Reads the arrays of a file as tensors on the CPU. The first bytes determine the format, not the
// suffix.
#include "core/engine/runtime/read_tensors.hpp"

#include "core/base/mapped_file.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/arrays/array_file.hpp"

#include <gantry/compact_tensor.hpp>

namespace gantry {
namespace {

using Named = std::vector<std::pair<std::string, Ref<TensorObject>>>;

// Limits for the decompressed size of a file, because deflate compresses a megabyte of zeros to a
// kilobyte.
constexpr std::uint64_t unpacked_minimum = std::uint64_t{64} << 20;
constexpr std::uint64_t unpacked_per_byte = 64;

Result<Named> read_all(const RuntimeState& state, std::span<const std::uint8_t> bytes) {
  NpzLimits limits;
  limits.bytes = unpacked_minimum + unpacked_per_byte * bytes.size();
  Result<ArrayFile> file = ArrayFile::parse(bytes, limits);
  if (!file.ok() && file.error().code == Code::exhausted) {
    return std::move(file).failure().at(
        "numpy.savez() writes arrays that need no room beside their file");
  }
  if (!file.ok()) return std::move(file).failure();
  Named all;
  for (std::size_t i = 0; i < file->names().size(); ++i) {
    GANTRY_TRY(const ArrayHeader header, file->header(i));
    GANTRY_TRY(Ref<TensorObject> tensor,
               tensor_new(state.devices,
                          compact_tensor(header.dtype, header.shape, gantry_device_id{kCpu, 0})));
    GANTRY_CHECK(file->read_data(i, header,
                                 {static_cast<std::uint8_t*>(tensor->tensor.data), tensor->bytes}));
    all.emplace_back(file->names()[i], std::move(tensor));
  }
  return all;
}

}  // namespace

Result<Named> read_tensors(RuntimeState& state, const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return std::move(file).failure().at("while reading tensors of ", path);
  auto read = read_all(state, (*file)->bytes());
  if (!read.ok()) return std::move(read).failure().at("while reading tensors of ", path);
  return read;
}

}  // namespace gantry
