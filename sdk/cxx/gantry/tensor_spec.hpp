// SPDX-License-Identifier: Apache-2.0
//
// gantry/tensor_spec.hpp - describes which tensors a function accepts.
//
//     constexpr gantry::Extent kRows[] = {'n', 64};
//     constexpr gantry::TensorSpec kInput{.dtype = gantry::dtypes::float32, .shape = kRows};
//
//     gantry::Extents extents;            // of one call: n has one size in all its tensors
//     GANTRY_TRY(const gantry_tensor* x, call.tensor(0, kInput, extents));
//     const std::int64_t n = extents['n'];
//
// If a tensor does not match, the error shows what was found and what is expected:
// argument 0 (x) is float64[2, 3] on cpu:0, expected float32[n, 64] on cpu:0
#pragma once

#include <gantry/tensor.h>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/failure.hpp>
#include <gantry/tensor_text.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// One dimension of an expected shape: 64, 'n' (any size, but the same one for every 'n' of a call)
// or '*' (any size).
class Extent {
 public:
  template <std::integral Number>
  requires(!std::same_as<Number, char>) constexpr Extent(Number size)  // NOLINT: implicit by design
      : size_(static_cast<std::int64_t>(size)) {}
  // name     [in]   'a' to 'z', or '*'; any other character does not compile
  // NOLINTNEXTLINE: implicit by design
  consteval Extent(char name) : name_(name) {
    if (name != '*' && (name < 'a' || name > 'z')) throw "a name is 'a' to 'z', or '*'";
  }

  bool is_fixed() const { return name_ == 0; }
  bool is_any() const { return name_ == '*'; }
  std::int64_t size() const { return size_; }
  char name() const { return name_; }

 private:
  std::int64_t size_ = 0;
  char name_ = 0;
};

// The sizes of the named dimensions of one call.
class Extents {
 public:
  Extents() { sizes_.fill(-1); }
  // Returns the size of 'a' to 'z'; -1 if no tensor has bound it yet.
  std::int64_t operator[](char name) const { return sizes_[static_cast<std::size_t>(name - 'a')]; }

 private:
  friend class TensorMatch;
  std::array<std::int64_t, 26> sizes_;
};

enum class TensorPlace : std::uint8_t {
  // In host memory, on any device of type cpu.
  host,
  // On the device of the call.
  call,
  any,
};

struct TensorSpec {
  // nullopt: any
  std::optional<gantry_dtype> dtype = {};
  // nullopt: any. The extents must outlive the spec.
  std::optional<std::span<const Extent>> shape = {};
  TensorPlace place = TensorPlace::host;
  // Required alignment of the first element in bytes. Must be 0 if data are handles.
  std::uint64_t alignment = 0;
  // True if the function uses strides. Otherwise the tensor must be compact.
  bool has_strides = false;
  // True if the function adds byte_offset to data. Otherwise it must be 0.
  bool has_offset = false;
};

// Compares one tensor with a spec. Allocates no memory if the tensor matches.
class TensorMatch {
 public:
  // where    [in]   device of the call
  // extents  [in, out] if the tensor matches, its names that are not bound yet are bound
  TensorMatch(const gantry_tensor& found, const TensorSpec& expected, gantry_device_id where,
              Extents& extents)
      : found_(found), expected_(expected), where_(where), extents_(extents) {
    Extents bound = extents;
    difference_ = compare(bound);
    if (ok()) extents = bound;
  }

  bool ok() const { return difference_ == Difference::none; }

  // Returns the error. Precondition: !ok().
  //
  // subject  [in]   "argument 0 (x)"
  // returns  INVALID (ARGUMENT_DEVICE, ARGUMENT_DTYPE, ARGUMENT_SHAPE, ARGUMENT_STRIDES,
  //          ARGUMENT_OFFSET, ARGUMENT_ALIGNMENT)
  Failure failure(std::string_view subject) const {
    return invalid(subject, " is ", found_text(), ", expected ", expected_text())
        .with_reason(reason());
  }

 private:
  enum class Difference : std::uint8_t { none, device, dtype, shape, strides, offset, alignment };

  Difference compare(Extents& bound) const {
    if (!is_in_place()) return Difference::device;
    if (expected_.dtype && !same_dtype(found_.dtype, *expected_.dtype)) return Difference::dtype;
    if (expected_.shape && !match_shape(bound)) return Difference::shape;
    if (!expected_.has_strides && !is_compact(found_)) return Difference::strides;
    if (!expected_.has_offset && found_.byte_offset != 0) return Difference::offset;
    if (expected_.alignment != 0 && past_alignment() != 0) return Difference::alignment;
    return Difference::none;
  }

  bool is_in_place() const {
    switch (expected_.place) {
      case TensorPlace::host:
        return found_.device.type == cpu_device_type;
      case TensorPlace::call:
        return same_device(found_.device, where_);
      case TensorPlace::any:
        break;
    }
    return true;
  }

  // Compares the shape and binds names that are not bound yet. A name may occur several times in
  // one shape.
  bool match_shape(Extents& extents) const {
    const auto shape = shape_of(found_);
    if (shape.size() != expected_.shape->size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Extent& extent = (*expected_.shape)[i];
      if (extent.is_any()) continue;
      if (extent.is_fixed()) {
        if (shape[i] != extent.size()) return false;
        continue;
      }
      std::int64_t& bound = extents.sizes_[static_cast<std::size_t>(extent.name() - 'a')];
      if (bound < 0) bound = shape[i];
      if (bound != shape[i]) return false;
    }
    return true;
  }

  std::uint64_t address() const {
    return reinterpret_cast<std::uintptr_t>(found_.data) + found_.byte_offset;
  }
  std::uint64_t past_alignment() const { return address() % expected_.alignment; }

  std::string_view reason() const {
    constexpr std::string_view reasons[] = {"",
                                            "ARGUMENT_DEVICE",
                                            "ARGUMENT_DTYPE",
                                            "ARGUMENT_SHAPE",
                                            "ARGUMENT_STRIDES",
                                            "ARGUMENT_OFFSET",
                                            "ARGUMENT_ALIGNMENT"};
    return reasons[static_cast<std::size_t>(difference_)];
  }

  // Contains device, type and shape, and strides, offset or alignment if that is the difference.
  std::string found_text() const {
    std::string text = concat(tensor_text(found_), " on ", device_text(found_.device));
    if (difference_ == Difference::strides) {
      text += concat(" with strides ",
                     numbers_text({found_.strides, static_cast<std::size_t>(found_.ndim)}));
    } else if (difference_ == Difference::offset) {
      text += concat(" at byte offset ", found_.byte_offset);
    } else if (difference_ == Difference::alignment) {
      text += concat(" at ", Hex{address()}, ", ", past_alignment(), " bytes past a multiple of ",
                     expected_.alignment);
    }
    return text;
  }
  std::string expected_text() const {
    std::string text = expected_.dtype ? dtype_text(*expected_.dtype) : "any dtype";
    text += expected_.shape ? shape_text() : "[...]";
    if (expected_.place == TensorPlace::host) text += " on cpu";
    if (expected_.place == TensorPlace::call) text += concat(" on ", device_text(where_));
    if (difference_ == Difference::strides) text += ", compact";
    if (difference_ == Difference::offset) text += " at byte offset 0";
    if (difference_ == Difference::alignment) {
      text += concat(", aligned to ", expected_.alignment, " bytes");
    }
    return text;
  }
  // Returns "[n, 64]", or "[n = 3, 64]" if another tensor has bound n.
  std::string shape_text() const {
    std::string text = "[";
    for (const Extent& extent : *expected_.shape) {
      if (text.size() > 1) text += ", ";
      if (extent.is_fixed()) {
        text += concat(extent.size());
        continue;
      }
      text += extent.name();
      if (!extent.is_any() && extents_[extent.name()] >= 0) {
        text += concat(" = ", extents_[extent.name()]);
      }
    }
    return text + "]";
  }

  const gantry_tensor& found_;
  const TensorSpec& expected_;
  gantry_device_id where_;
  const Extents& extents_;
  Difference difference_;
};

}  // namespace gantry
