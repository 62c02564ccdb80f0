// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/cpu_array.hpp"

#include "tools/gantry/common/call_script.hpp"
#include "tools/gantry/common/element_value.hpp"
#include "tools/gantry/common/escape.hpp"

#include "core/formats/arrays/npz_write.hpp"
#include "core/formats/model_signature.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/fill.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>

namespace gantry::cli {
namespace {

std::span<const std::uint8_t> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::uint8_t*>(tensor.data()), tensor.byte_size()};
}

}  // namespace

gantry_dtype numpy_dtype(gantry_dtype dtype) {
  if (dtype.lanes != 1) return dtype;
  const bool is_bool = same_dtype(dtype, {static_cast<std::uint8_t>(TypeCode::bool_), 8, 1});
  return is_bool ? gantry_dtype{static_cast<std::uint8_t>(TypeCode::uint), 1, 1}
                 : stored_dtype(dtype);
}

Result<Tensor> zeros(const Runtime& runtime, std::span<const std::int64_t> shape,
                     gantry_dtype dtype, const std::string& device) {
  GANTRY_TRY(Tensor made, runtime.tensor(shape, dtype, device));
  GANTRY_CHECK(fill_zeros(runtime.host(), *made.dlpack(), nullptr));
  return made;
}

Result<Tensor> copied_to(const Runtime& runtime, const Tensor& tensor, const std::string& device) {
  GANTRY_TRY(Tensor copy, runtime.tensor(tensor.shape(), tensor.dtype(), device));
  GANTRY_CHECK(runtime.copy(tensor, copy));
  return copy;
}

ArrayView view_of(const CpuArray& array) {
  const auto shape = array.tensor.shape();
  return {array.name, array.tensor.dtype(), {shape.begin(), shape.end()}, bytes_of(array.tensor)};
}

void write_type(const CpuArray& array, JsonWriter& json) {
  const auto shape = array.tensor.shape();
  json.field("name", json_text(array.name));
  json.field("dtype", dtype_text(array.tensor.dtype()));
  json.field("shape", std::vector<std::int64_t>(shape.begin(), shape.end()));
}

std::string line_of(const CpuArray& array) {
  constexpr std::uint64_t max = 8;
  const ArrayView view = view_of(array);
  const std::uint64_t count = view.element_count();
  std::vector<std::uint8_t> room;
  std::string text = concat(escaped(view.name), "  ", type_text(view.dtype, view.shape), " ");
  for (std::uint64_t i = 0; i < std::min(count, max); ++i) {
    text += " " + element_text(element_at(view.bytes, view.dtype, i, room), view.dtype);
  }
  return text + (count > max ? " ..." : "");
}

Status write_arrays(OutputFile& file, std::span<const CpuArray> arrays) {
  std::vector<NpzItem> items;
  for (const CpuArray& array : arrays) {
    items.push_back({array.name, numpy_dtype(array.tensor.dtype()), array.tensor.shape(),
                     bytes_of(array.tensor)});
  }
  if (file.path().extension() != ".npy") {
    GANTRY_CHECK(write_npz(file, items));
  } else if (items.size() == 1) {
    GANTRY_CHECK(write_npy(file, items.front()));
  } else {
    return invalid("the run has ", items.size(), " outputs, the file ",
                   quoted(file.path().native()), " contains one; use the suffix .npz");
  }
  return file.commit();
}

Result<ExpectedArrays> ExpectedArrays::read(const Runtime& runtime, const std::string& path) {
  GANTRY_TRY(auto members, runtime.read_tensors(path));
  ExpectedArrays expected;
  expected.path_ = path;
  for (auto& [name, tensor] : members) expected.arrays_.push_back({name, std::move(tensor)});
  return expected;
}

std::vector<CpuArray> ExpectedArrays::named_as(std::span<const CpuArray> found) const {
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < found.size(); ++i) {
    names.emplace(output_name(i, found.size()), found[i].name);
  }
  const bool is_named_by_position = std::ranges::all_of(
      arrays_, [&](const CpuArray& array) { return names.contains(array.name); });
  std::vector<CpuArray> expected = arrays_;
  if (is_named_by_position && arrays_.size() == found.size()) {
    for (CpuArray& array : expected) array.name = names[array.name];
  }
  return expected;
}

Status ExpectedArrays::compare_with(std::span<const CpuArray> found, Tolerance tolerance,
                                    bool only) const {
  const std::vector<CpuArray> expected = named_as(found);
  std::vector<ArrayView> expected_views;
  for (const CpuArray& array : expected) {
    ArrayView& view = expected_views.emplace_back(view_of(array));
    const auto same = std::ranges::find(found, array.name, &CpuArray::name);
    if (same == found.end()) continue;
    const gantry_dtype dtype = same->tensor.dtype();
    if (same_dtype(view.dtype, numpy_dtype(dtype))) view.dtype = dtype;
  }
  std::vector<ArrayView> found_views;
  for (const CpuArray& array : found) {
    const bool is_expected =
        std::ranges::find(expected, array.name, &CpuArray::name) != expected.end();
    if (is_expected || !only) found_views.push_back(view_of(array));
  }
  Status status = compare_all(found_views, expected_views, tolerance);
  if (!status.ok()) return std::move(status).error().at("compared with ", quoted(path_));
  return {};
}

}  // namespace gantry::cli
