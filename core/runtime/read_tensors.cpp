// SPDX-License-Identifier: Apache-2.0
//
// Tensor files onto the CPU: the format is told by the first bytes, not by the suffix.
#include <gantry/runtime.hpp>
#include "core/arrays/npy.hpp"
#include "core/arrays/npz.hpp"
#include "core/arrays/params.hpp"
#include "core/base/mapped_file.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>

namespace gantry {
namespace {

using Named = std::vector<std::pair<std::string, Tensor>>;

bool begins_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

Result<Tensor> to_tensor(Runtime& runtime, gantry_dtype dtype, std::span<const std::int64_t> shape,
                         std::span<const std::uint8_t> data) {
  GANTRY_TRY(Tensor tensor, runtime.tensor(shape, dtype));
  if (!data.empty()) std::memcpy(tensor.data(), data.data(), data.size());
  return tensor;
}

// What packed arrays may come to: a megabyte of zeros packs a thousand times smaller, and nobody has said that a file of
// one megabyte may take a gigabyte.
constexpr std::uint64_t kUnpackedForFree = std::uint64_t{64} << 20;
constexpr std::uint64_t kUnpackedPerByte = 64;

Result<Named> from_npz(Runtime& runtime, std::span<const std::uint8_t> bytes) {
  NpzLimits limits;
  limits.bytes = kUnpackedForFree + kUnpackedPerByte * bytes.size();
  auto archive = NpzReader::over(bytes, limits);
  if (!archive.ok() && archive.error().code == Code::exhausted) {
    return std::move(archive).failure().at(
        "numpy.savez() writes arrays that need no room beside their file");
  }
  if (!archive.ok()) return std::move(archive).error();
  Named all;
  for (const NpzMember& member : archive->members()) {
    GANTRY_TRY(const NpyHeader header, archive->header(member.name));
    GANTRY_TRY(Tensor tensor, runtime.tensor(header.shape, header.dtype));
    GANTRY_CHECK(archive->read_data(
        member.name, header,
        {static_cast<std::uint8_t*>(tensor.data()), static_cast<std::size_t>(header.data_bytes)}));
    all.emplace_back(member.name, std::move(tensor));
  }
  return all;
}

Result<Named> from_params(Runtime& runtime, std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(const std::vector<Param> params, read_params(bytes));
  Named all;
  for (const Param& param : params) {
    GANTRY_TRY(Tensor tensor,
               to_tensor(runtime, param.array.dtype, param.array.shape, param.array.data));
    all.emplace_back(std::string(param.name), std::move(tensor));
  }
  return all;
}

Result<Named> from_npy(Runtime& runtime, std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(const NpyArray read, read_npy(bytes));
  GANTRY_TRY(Tensor tensor, to_tensor(runtime, read.dtype, read.shape, read.data));
  Named all;
  all.emplace_back("", std::move(tensor));
  return all;
}

Result<Named> from_bytes(Runtime& runtime, std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t magic = params_magic;
  if (begins_with(bytes, "\x93NUMPY")) return from_npy(runtime, bytes);
  if (begins_with(bytes, "PK")) return from_npz(runtime, bytes);
  if (begins_with(bytes, {reinterpret_cast<const char*>(&magic), sizeof magic}))
    return from_params(runtime, bytes);
  const std::string_view first(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 8));
  return malformed(0, "no tensor file: begins with ", quoted(first),
                   ", expected .npy, .npz or a parameter file");
}

}  // namespace

Result<Named> Runtime::read_tensors(const std::string& path) {
  return guard([&]() -> Result<Named> {
    auto file = MappedFile::open(path);
    if (!file.ok()) return std::move(file).failure().at("while reading tensors of ", path);
    auto read = from_bytes(*this, (*file)->bytes());
    if (!read.ok()) return std::move(read).failure().at("while reading tensors of ", path);
    return read;
  });
}

}  // namespace gantry
