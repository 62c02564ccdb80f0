// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/cpu_array.hpp"

#include "tools/gantry/common/call_script.hpp"
#include "tools/gantry/common/element_value.hpp"
#include "tools/gantry/common/escape.hpp"

#include "core/formats/arrays/npz_write.hpp"
#include "core/formats/model_signature.hpp"

#include "core/base/text.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/fill.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace gantry::cli {
namespace {

std::span<const std::uint8_t> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::uint8_t*>(tensor.data()), tensor.byte_size()};
}

// The elements of an array, by their number in row-major order.
class Elements {
 public:
  explicit Elements(const CpuArray& array)
      : view_(view_of(array)), read_(element_reader(view_.dtype)) {}

  const ArrayView& view() const { return view_; }
  std::uint64_t count() const { return view_.element_count(); }
  // True for numbers.
  bool has_order() const { return read_.has_value(); }

  std::string text(std::uint64_t at) const { return element_text(address(at), view_.dtype); }
  void write(std::uint64_t at, JsonWriter& json) const {
    const std::string digits = text(at);
    has_order() && std::isfinite(number(at)) ? json.number(digits) : json.value(digits);
  }

  std::vector<std::int64_t> index(std::uint64_t at) const {
    std::vector<std::int64_t> index(view_.shape.size());
    for (std::size_t axis = index.size(); axis-- > 0;) {
      const auto extent = static_cast<std::uint64_t>(view_.shape[axis]);
      index[axis] = static_cast<std::int64_t>(at % extent);
      at /= extent;
    }
    return index;
  }
  // "[0, 3]", of the first axes
  std::string index_text(std::uint64_t at, std::size_t axes) const {
    const std::vector<std::int64_t> all = index(at);
    return concat("[", join(std::span(all).first(axes)), "]");
  }

  // The numbers of the largest elements, see ShownValues.
  std::vector<std::uint64_t> largest(std::size_t top) const {
    std::vector<std::uint64_t> found;
    if (!has_order() || count() == 0) return found;
    const std::uint64_t groups =
        view_.shape.size() < 2 ? 1 : static_cast<std::uint64_t>(view_.shape.front());
    const std::uint64_t size = count() / groups;
    for (std::uint64_t begin = 0; begin < count(); begin += size)
      add_largest(begin, size, top, found);
    return found;
  }

 private:
  struct Ranked {
    long double number;
    std::uint64_t at;
    // NaN first; of equal ones, the first
    bool operator<(const Ranked& other) const {
      const bool nan = std::isnan(number), other_nan = std::isnan(other.number);
      if (nan != other_nan) return nan;
      if (!nan && number != other.number) return number > other.number;
      return at < other.at;
    }
  };

  const std::uint8_t* address(std::uint64_t at) const {
    return element_at(view_.bytes, view_.dtype, at, room_);
  }
  long double number(std::uint64_t at) const { return (*read_)(address(at)); }

  void add_largest(std::uint64_t begin, std::uint64_t size, std::size_t top,
                   std::vector<std::uint64_t>& found) const {
    // a heap, whose first one is the smallest
    std::vector<Ranked> best;
    for (std::uint64_t at = begin; at < begin + size; ++at) {
      const Ranked next{number(at), at};
      if (best.size() < top) {
        best.push_back(next);
        std::ranges::push_heap(best, std::less());
      } else if (next < best.front()) {
        std::ranges::pop_heap(best, std::less());
        best.back() = next;
        std::ranges::push_heap(best, std::less());
      }
    }
    std::ranges::sort_heap(best, std::less());
    for (const Ranked& one : best) found.push_back(one.at);
  }

  ArrayView view_;
  std::optional<ElementReader> read_;
  // of an element that begins within a byte
  mutable std::vector<std::uint8_t> room_;
};

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

std::string values_text(const CpuArray& array, ShownValues shown) {
  constexpr std::uint64_t max = 8;
  const Elements elements(array);
  const ArrayView& view = elements.view();
  std::string text = concat(escaped(view.name), "  ", type_text(view.dtype, view.shape));
  const std::size_t axes = view.shape.size();
  if (shown.top > 0) {
    text += elements.has_order() ? "\n" : "  elements without an order\n";
    for (const std::uint64_t index : elements.largest(shown.top))
      text += text_line("  ", elements.index_text(index, axes), "  ", elements.text(index));
    return text;
  }
  const std::uint64_t row = axes == 0 ? 1 : static_cast<std::uint64_t>(view.shape.back());
  const std::uint64_t count = elements.count();
  if (!shown.all || axes < 2) {
    const std::uint64_t end = shown.all ? count : std::min(count, max);
    if (end > 0) text += ' ';
    for (std::uint64_t i = 0; i < end; ++i) text += " " + elements.text(i);
    return text + (end < count ? " ...\n" : "\n");
  }
  text += '\n';
  for (std::uint64_t i = 0; i < count; i += row) {
    text += concat("  ", elements.index_text(i, axes - 1), " ");
    for (std::uint64_t k = i; k < i + row; ++k) text += " " + elements.text(k);
    text += '\n';
  }
  return text;
}

void write_values(const CpuArray& array, ShownValues shown, JsonWriter& json) {
  const Elements elements(array);
  if (shown.top > 0) {
    json.begin_list("top");
    for (const std::uint64_t index : elements.largest(shown.top)) {
      json.begin_object();
      json.field("index", elements.index(index));
      json.key("value");
      elements.write(index, json);
      json.end();
    }
    json.end();
  }
  if (!shown.all) return;
  json.key("values");
  const std::vector<std::int64_t>& shape = elements.view().shape;
  std::uint64_t next = 0;
  const auto write = [&](const auto& self, std::size_t axis) -> void {
    if (axis == shape.size()) return elements.write(next++, json);
    json.begin_list();
    for (std::int64_t i = 0; i < shape[axis]; ++i) self(self, axis + 1);
    json.end();
  };
  write(write, 0);
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
