// SPDX-License-Identifier: Apache-2.0
//
// gantry/kernel_args.hpp - converts the values of a call to the arguments and launch extents of a
// kernel, according to its parameter types (kernel_table.hpp) and launch tags (launch_tags.hpp).
//
//     // When the payload is read.
//     GANTRY_TRY(const KernelCall kernel, KernelCall::parse(info));
//
//     // When the kernel is called.
//     GANTRY_CHECK(kernel.check_count(args.size()));
//     for (std::size_t i = 0; i < kernel.parameter_count(); ++i) {
//       GANTRY_TRY(const KernelArgument argument, kernel.argument(i, args[i], env->device));
//       pass(argument);
//     }
//     GANTRY_TRY(const LaunchExtents extents, kernel.extents(args));
//
// Does not depend on a driver. Converting a call allocates no memory.
#pragma once

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/launch_tags.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

// The kind of a parameter. A tensor map is specific to CUDA: the value is a pointer to its 128
// bytes, which are passed by value.
enum class ParameterKind : std::uint8_t {
  pointer,
  int32,
  int64,
  uint32,
  float32,
  float64,
  tensor_map
};

// One argument in the form that drivers require.
struct KernelArgument {
  ParameterKind kind = ParameterKind::pointer;
  // Size of a scalar in bytes, 4 or 8; 0 for other kinds.
  std::uint8_t size = 0;
  // A scalar, little-endian, padded with zeros.
  alignas(8) std::array<std::uint8_t, 8> bytes{};
  // A pointer that the device's alloc returned, or NULL.
  void* data = nullptr;
  // Offset from data, for a tensor that is a view into another one.
  std::uint64_t byte_offset = 0;

  bool is_pointer() const { return kind == ParameterKind::pointer; }
  bool is_scalar() const { return size != 0; }
};

class KernelCall {
 public:
  // Checks the record of one kernel.
  //
  // returns  UNSUPPORTED  a parameter type that compilers do not pass to kernels (PARAMETER_TYPE)
  //          and the errors of parse_launch_tags()
  // costs    O(parameters + tags)
  // source   apache/tvm src/runtime/pack_args.h, which passes only these types
  static Result<KernelCall> parse(const KernelInfo& kernel) {
    KernelCall call;
    call.name_ = kernel.name;
    call.parameters_.reserve(kernel.parameters.size());
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      const auto kind = kind_of(kernel.parameters[i], kernel.is_tensor_map(i));
      if (!kind) {
        return unsupported("kernel ", quoted(kernel.name), ": parameter ", i, " has type ",
                           dtype_text(kernel.parameters[i]),
                           ", kernels accept handle, int32, int64, uint32, float32 and float64")
            .with_reason("PARAMETER_TYPE");
      }
      call.parameters_.push_back(*kind);
    }
    GANTRY_TRY(call.tags_, parse_launch_tags(kernel.launch_tags, kernel.name));
    return call;
  }

  const std::string& name() const { return name_; }
  const LaunchTags& tags() const { return tags_; }
  std::size_t parameter_count() const { return parameters_.size(); }
  ParameterKind parameter(std::size_t i) const { return parameters_[i]; }
  // Number of parameters and extents.
  std::size_t argument_count() const { return parameters_.size() + tags_.argument_count(); }

  // Checks that a device whose launches only have a grid and a block can launch the kernel.
  //
  // device   [in]   for the message: "opencl"
  // returns  UNSUPPORTED  the kernel requires a cluster, a cooperative launch, a programmatic
  //                       dependent launch, dynamic shared memory or a tensor map (LAUNCH_TAG,
  //                       PARAMETER_TYPE)
  Status needs_grid_and_block_only(std::string_view device) const {
    const auto refuse = [&](std::string_view what, std::string_view reason = "LAUNCH_TAG") {
      return unsupported("kernel ", quoted(name_), " requires ", what, ", which ", device,
                         " devices do not have")
          .with_reason(reason);
    };
    if (tags_.has_cluster() || tags_.has_preferred_cluster()) return refuse("clusters of blocks");
    if (tags_.is_cooperative) return refuse("a cooperative launch");
    if (tags_.is_programmatic_dependent) return refuse("a programmatic dependent launch");
    if (tags_.has_dynamic_shared_memory) return refuse("dynamic shared memory");
    if (std::ranges::count(parameters_, ParameterKind::tensor_map) != 0)
      return refuse("a tensor map", "PARAMETER_TYPE");
    return {};
  }

  // returns  INVALID  `count` is not argument_count() (ARGUMENT_COUNT)
  Status check_count(std::size_t count) const {
    if (count == argument_count()) return {};
    return invalid("kernel ", quoted(name_), " is called with ", count, " arguments, expected ",
                   argument_count(), ": ", parameters_.size(), " parameters and ",
                   tags_.argument_count(), " launch extents")
        .with_reason("ARGUMENT_COUNT");
  }

  // Converts one argument. Compiled code passes pointers and 64-bit numbers; applications may also
  // pass tensors.
  //
  // i        [in]   index of the parameter, below parameter_count()
  // value    [in]   must outlive the result
  // device   [in]   device of the call; a tensor must be on it
  // returns  INVALID  the value's kind does not match the parameter (ARGUMENT_KIND), a number is
  //                   out of the range of the parameter's type (ARGUMENT_RANGE), or a tensor is on
  //                   another device (ARGUMENT_DEVICE)
  Result<KernelArgument> argument(std::size_t i, const gantry_value& value,
                                  gantry_device_id device) const {
    KernelArgument out;
    out.kind = parameters_[i];
    switch (out.kind) {
      case ParameterKind::pointer:
      case ParameterKind::tensor_map:
        return pointer(i, value, device, out);
      case ParameterKind::int32:
        return integer<std::int32_t>(i, value, out);
      case ParameterKind::int64:
        return integer<std::int64_t>(i, value, out);
      case ParameterKind::uint32:
        return integer<std::uint32_t>(i, value, out);
      case ParameterKind::float32:
        return real<float>(i, value, out);
      case ParameterKind::float64:
        break;
    }
    return real<double>(i, value, out);
  }

  // Returns the launch extents.
  //
  // arguments  [in]  all arguments of the call. Precondition: check_count() succeeds
  Result<LaunchExtents> extents(std::span<const gantry_value> arguments) const {
    Result<LaunchExtents> read = tags_.extents(arguments.subspan(parameters_.size()));
    if (!read.ok()) read.error().at("in a call of kernel ", quoted(name_));
    return read;
  }

 private:
  // Returns nullopt if kernels do not have parameters of the type.
  static std::optional<ParameterKind> kind_of(gantry_dtype type, bool is_tensor_map) {
    static constexpr std::pair<gantry_dtype, ParameterKind> kinds[] = {
        {dtypes::handle, ParameterKind::pointer},  {dtypes::int32, ParameterKind::int32},
        {dtypes::int64, ParameterKind::int64},     {dtypes::uint32, ParameterKind::uint32},
        {dtypes::float32, ParameterKind::float32}, {dtypes::float64, ParameterKind::float64}};
    for (const auto& [known, kind] : kinds) {
      if (!same_dtype(known, type)) continue;
      if (!is_tensor_map) return kind;
      if (kind == ParameterKind::pointer) return ParameterKind::tensor_map;
    }
    return std::nullopt;
  }

  template <class... Parts>
  Failure refuse(std::size_t i, const Parts&... parts) const {
    return invalid("kernel ", quoted(name_), ": argument ", i, " is ", parts...);
  }

  Result<KernelArgument> pointer(std::size_t i, const gantry_value& value, gantry_device_id device,
                                 KernelArgument& out) const {
    if (value.kind == GANTRY_POINTER) {
      out.data = value.p;
    } else if (const gantry_tensor* tensor = gantry_value_tensor(&value);
               tensor != nullptr && out.is_pointer()) {
      if (!same_device(tensor->device, device)) {
        return refuse(i, "a tensor on device ", tensor->device.type, ':', tensor->device.index,
                      ", the call runs on ", device.type, ':', device.index)
            .with_reason("ARGUMENT_DEVICE");
      }
      out.data = tensor->data;
      out.byte_offset = tensor->byte_offset;
    } else if (value.kind != GANTRY_NONE || !out.is_pointer()) {
      return refuse(i, kind_text(value.kind), ", expected a pointer").with_reason("ARGUMENT_KIND");
    }
    return out;
  }

  template <class Number>
  Result<KernelArgument> integer(std::size_t i, const gantry_value& value,
                                 KernelArgument& out) const {
    if (value.kind != GANTRY_INT && value.kind != GANTRY_BOOL)
      return refuse(i, kind_text(value.kind), ", expected an integer").with_reason("ARGUMENT_KIND");
    if (!std::in_range<Number>(value.i)) {
      return refuse(i, value.i, ", range is ", std::numeric_limits<Number>::min(), " to ",
                    std::numeric_limits<Number>::max())
          .with_reason("ARGUMENT_RANGE");
    }
    return scalar(static_cast<Number>(value.i), out);
  }

  template <class Number>
  Result<KernelArgument> real(std::size_t i, const gantry_value& value, KernelArgument& out) const {
    if (value.kind == GANTRY_INT) return scalar(static_cast<Number>(value.i), out);
    if (value.kind != GANTRY_FLOAT)
      return refuse(i, kind_text(value.kind), ", expected a float").with_reason("ARGUMENT_KIND");
    if (std::isfinite(value.f) && std::abs(value.f) > std::numeric_limits<Number>::max()) {
      // The conversion is undefined in C++. Compiled code expects the infinity that hardware
      // returns.
      return scalar(std::copysign(std::numeric_limits<Number>::infinity(),
                                  static_cast<Number>(std::signbit(value.f) ? -1 : 1)),
                    out);
    }
    return scalar(static_cast<Number>(value.f), out);
  }

  template <class Number>
  static KernelArgument scalar(Number number, KernelArgument& out) {
    out.size = sizeof number;
    std::memcpy(out.bytes.data(), &number, sizeof number);
    return out;
  }

  std::string name_;
  std::vector<ParameterKind> parameters_;
  LaunchTags tags_;
};

}  // namespace gantry
