// SPDX-License-Identifier: Apache-2.0
//
// Calls of all functions of a plugin on a fake host. Arguments are those that the usage of a function
// suggests, or any others: tensors with strides, byte offsets, the memory of others, no memory, and
// sizes that overflow. Results are arguments of later calls.
//
//     each call   the function, the form of its arguments, and for each argument its bytes
#pragma once

#include "tests/fuzz/fake_calls.hpp"

#include <gantry/convolution_call.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gantry::fuzz {

using Dims = std::vector<std::int64_t>;

// Elements of a tensor, and bytes of memory that an address is for.
inline constexpr std::int64_t max_elements = 1024;
inline constexpr std::size_t memory_bytes = 64 * 1024;

// Tensors in the memory of the CPU.
struct OnCpu {
  static constexpr gantry_device_id device = test::cpu;
  explicit OnCpu(test::FakeHost&) {}
  // Ends the work of a call.
  void wait() {}
};

// Plugin   of an SDK plugin, see gantry/plugin.hpp
// Place    where tensors are, as OnCpu; made before the plugin
template <class Plugin, class Place = OnCpu>
class FunctionCalls : FakeCalls {
 public:
  // more     [in]   arguments of the plugin's constructor after the host
  explicit FunctionCalls(std::span<const std::uint8_t> input, auto... more)
      : FakeCalls(input), plugin_(host_, more...), memory_(memory_bytes) {
    for (const auto& [name, function] : plugin_.named_functions()) functions_.push_back(&function);
  }

  void run() {
    while (!choices_.empty()) run_one();
  }

 private:
  using Function = typename std::remove_cvref_t<
      decltype(std::declval<Plugin&>().named_functions())>::mapped_type;

  static std::string_view usage_of(const Function& function) {
    if constexpr (requires { function.usage; }) {
      return function.usage;
    } else {
      return function.row->usage;
    }
  }

  // What the arguments of one call have in common.
  struct Subject {
    std::string_view usage;
    Dims dims;
    gantry_dtype type;
    std::int64_t axis = 0, k = 0;
    // of products: op(A) is rows x depth, op(B) is depth x columns
    std::int64_t batch = 1, rows = 0, depth = 0, columns = 0;
    bool flips_a = false, flips_b = false;
  };

  void run_one() {
    const Function& function = *functions_[choices_.take<std::uint8_t>() % functions_.size()];
    // 0: as the usage suggests; else also other numbers of arguments, and other arguments
    const std::size_t form = choices_.below(16);
    temporary_.clear();
    subject_ = subject_of(usage_of(function));
    std::vector<gantry_value> args;
    if (subject_.usage == conv2d_usage) {
      args = convolution();
    } else if (subject_.usage.find("sum_dtype") != subject_.usage.npos) {
      args = library_convolution();
    } else {
      const std::size_t count = count_of(subject_.usage) + (form == 1 ? choices_.below(4) : 0);
      for (std::size_t i = 0; i < count; ++i) {
        const bool is_other = form >= 14 || (form >= 12 && choices_.below(4) == 0);
        args.push_back(is_other ? other()
                                : of_name(detail::argument_name(subject_.usage, i), args));
      }
    }
    if (form == 2 && !args.empty()) args.pop_back();
    if (form == 3 && !args.empty()) args.erase(args.begin() + at_random(args.size()));
    if (form >= 4 && form < 6 && !args.empty()) args[choices_.below(args.size())] = other();
    // Without seeds; without a second output.
    if (form == 8 && args.size() > 2) args.erase(args.begin(), args.begin() + 2);
    if (form == 9 && args.size() > 2) args.erase(args.begin() + 2);
    // An argument at two places.
    if (form == 6 && !args.empty())
      args[choices_.below(args.size())] = args[choices_.below(args.size())];
    fake_.polls = 0;
    fake_.cancelled_after_polls = form == 7 ? choices_.below(32) : SIZE_MAX;

    auto result = function.call({{}, &env_, args});
    place_.wait();
    check(result);
    if (result.ok()) keep(std::move(*result), kept_);
    fake_.output.clear();
    fake_.error_kinds.clear();
  }
  std::ptrdiff_t at_random(std::size_t size) {
    return static_cast<std::ptrdiff_t>(choices_.below(size));
  }
  std::int64_t small(std::size_t limit) { return static_cast<std::int64_t>(choices_.below(limit)); }

  Subject subject_of(std::string_view usage) {
    Subject subject;
    subject.usage = usage;
    subject.dims = extents(true);
    if (choices_.below(4) == 0 && !subject.dims.empty())
      subject.dims[choices_.below(subject.dims.size())] = choices_.take<std::uint8_t>();
    limit(subject.dims);
    subject.type = choices_.below(3) != 0 ? dtypes::float32 : any_type();
    if (!subject.dims.empty()) subject.axis = small(subject.dims.size());
    subject.k = small(6);
    subject.batch = 1 + small(3);
    subject.rows = small(6);
    subject.depth = small(6);
    subject.columns = small(6);
    subject.flips_a = choices_.below(2) != 0;
    subject.flips_b = choices_.below(2) != 0;
    return subject;
  }
  // Makes extents small, the last ones first.
  static void limit(Dims& dims) {
    std::int64_t room = max_elements;
    for (std::int64_t& extent : dims) {
      extent = std::clamp<std::int64_t>(extent, 0, room);
      if (extent > 0) room /= extent;
    }
  }

  gantry_value of_name(std::string_view name, const std::vector<gantry_value>& before) {
    Subject& s = subject_;
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return is_one_of(name, names);
    };
    if (is({"A", "B", "C"})) return matrix(name[0]);
    if (is({"transa"})) return bool_value(s.flips_a);
    if (is({"transb"})) return bool_value(s.flips_b);
    if (is({"axis"})) return int_value(choices_.below(8) == 0 ? integer() : s.axis);
    if (is({"k"})) return int_value(choices_.below(8) == 0 ? integer() : s.k);
    if (is({"ascending", "sorted", "return_index", "return_inverse", "return_counts"}))
      return int_value(small(2));
    if (is({"seed", "seed2", "relative_byte_offset"})) return int_value(integer());
    if (is({"low", "mean"})) return choices_.below(2) == 0 ? int_value(integer()) : number();
    if (is({"high", "deviation"}))
      return choices_.below(2) == 0 ? int_value(1 + small(100)) : number();
    if (is({"what", "format", "line", "scope"})) return text();
    if (is({"shape"})) return choices_.below(4) == 0 ? shape() : made(host_.shape(s.dims));
    if (is({"dtype"})) return dtype_value(choices_.below(2) == 0 ? s.type : any_type());
    if (is({"device"})) return device();
    if (is({"address"})) return address();
    if (is({"bytes"})) return int_value(choices_.below(8) == 0 ? integer() : bytes_of(before));
    if (is({"count"})) {
      Dims dims = s.dims;
      if (!dims.empty()) dims.erase(dims.begin() + s.axis);
      return hostile_tensor(dtypes::int32, dims);
    }
    if (is({"condition"})) {
      return choices_.below(2) == 0
                 ? int_value(small(2))
                 : hostile_tensor({1, 1, 1}, choices_.below(2) == 0 ? Dims() : s.dims);
    }
    // "out", and what follows it in "out, ..."
    if (is({"out", ""})) {
      Dims dims = s.dims;
      if (!dims.empty() && s.usage.find(" k,") != s.usage.npos)
        dims[static_cast<std::size_t>(s.axis)] = s.k;
      const gantry_dtype out_types[] = {s.type, dtypes::float32, dtypes::int32, dtypes::int64};
      return hostile_tensor(out_types[choices_.below(std::size(out_types))], dims);
    }
    if (is({"values"})) return other();
    return hostile_tensor(s.type, s.dims);
  }

  // Also the kinds and forms of values that no usage suggests.
  gantry_value other() {
    switch (choices_.below(8)) {
      case 0:
        return address();
      case 1:
        return device();
      case 2:
        return text();
      case 3:
      case 4:
        return hostile_tensor(any_type(), subject_.dims);
      case 5: {
        // Arrays within each other, some of them twice.
        std::vector<Value> items;
        for (std::size_t i = choices_.below(4); i > 0; --i) {
          const gantry_value item =
              kept_.empty() || choices_.below(4) == 0 ? any() : kept_.back().get();
          if (auto kept = host_.keep(item); kept.ok()) items.push_back(std::move(*kept));
        }
        auto array = host_.array(items);
        if (!array.ok()) return {};
        keep(*host_.keep(array->get()), kept_);
        return made(std::move(array));
      }
      default:
        return any();
    }
  }
  gantry_value text() {
    constexpr std::string_view texts[] = {"both",        "values", "indices",
                                          "float32x4",   "global", "{}",
                                          "{:>1048576}", "{0}{0}", "{{{1:é^9.3}}}"};
    const std::size_t choice = choices_.below(16);
    if (choice < std::size(texts)) return made(host_.text(texts[choice]));
    const auto bytes = choices_.take_bytes(choices_.below(24));
    return made(host_.text(text_of(bytes.data(), bytes.size())));
  }
  gantry_value device() {
    constexpr gantry_device_id devices[] = {test::cpu, test::handles, {1, 7}, {2, 0}, {-1, -1}};
    return device_value(devices[choices_.below(std::size(devices))]);
  }
  gantry_value address() {
    gantry_value value{};
    value.kind = GANTRY_POINTER;
    if (choices_.below(4) != 0) value.p = memory_.data();
    return value;
  }
  static std::int64_t bytes_of(const std::vector<gantry_value>& args) {
    for (const gantry_value& value : args) {
      if (const gantry_tensor* const tensor = gantry_value_tensor(&value)) {
        const auto bytes = tensor_bytes(shape_of(*tensor), tensor->dtype);
        if (bytes.ok()) return static_cast<std::int64_t>(*bytes);
      }
    }
    return 0;
  }

  // A tensor as an object or by reference.
  gantry_value passed(Result<Value> made_tensor) {
    const gantry_value value = made(std::move(made_tensor));
    if (choices_.below(2) == 0) return value;
    gantry_tensor* const tensor = gantry_value_tensor(&value);
    return tensor == nullptr ? value : tensor_ref_value(tensor);
  }

  // A tensor of these extents, or of hostile ones.
  gantry_value hostile_tensor(gantry_dtype type, Dims dims) {
    const std::uint8_t form = choices_.take<std::uint8_t>();
    switch (form % 16) {
      case 0:
        return no_memory(type, {});
      case 1: {
        const gantry_value owner = tensor(dtypes::uint8, Dims{8}, test::cpu, 1);
        return no_memory(type, overflowing(), gantry_value_tensor(&owner), owner.object);
      }
      case 2: {
        // Elements that an extent of 0 takes from all others.
        Dims empty = overflowing();
        empty.insert(empty.begin() + at_random(empty.size() + 1), 0);
        return no_memory(type, empty);
      }
      case 3:
        return no_memory(type, overflowing());
      case 4:
        return alias(type, std::move(dims));
      case 5:
        return strided(type, dims, {}, 0);
      case 6:
        return tensor(type, dims, test::handles, form / 16 % 8);
      case 7:
        return tensor(type);
      case 8:
        return strided(type, dims, compact_strides(dims), choices_.below(17));
      default:
        if (form >= 128) std::ranges::reverse(dims);
        return strided(type, dims, compact_strides(dims), 0);
    }
  }
  Dims overflowing() {
    Dims dims;
    std::int64_t left = 63;
    for (std::size_t rank = 1 + choices_.below(5); rank > 0; --rank) {
      const std::int64_t bits = rank == 1 ? left : small(static_cast<std::size_t>(left) + 1);
      dims.push_back(bits == 63 ? INT64_MAX : std::int64_t{1} << bits);
      left -= bits;
    }
    // 2^62 elements of 4 bytes, or a negative extent, or 2^64.
    if (choices_.below(4) == 0) dims[choices_.below(dims.size())] = -1 - small(3);
    dims.push_back(std::int64_t{1} << choices_.below(63));
    return dims;
  }
  // A tensor without memory, or with that of another one, which has 8 bytes.
  gantry_value no_memory(gantry_dtype type, Dims dims, const gantry_tensor* other = nullptr,
                         gantry_object* owner = nullptr) {
    const auto bytes = tensor_bytes(dims, type);
    // No function can see that a tensor of some size lacks memory.
    if (bytes.ok() && *bytes > (other != nullptr ? 8 : 0)) dims.push_back(0);
    const void* const data = other != nullptr ? other->data : nullptr;
    return passed(host_.tensor_view(compact_tensor(type, dims, Place::device, data),
                                    owner != nullptr ? owner : fake_.node()));
  }
  static Dims compact_strides(const Dims& dims) {
    Dims strides(dims.size());
    std::int64_t step = 1;
    for (std::size_t i = dims.size(); i-- > 0; step *= std::max<std::int64_t>(dims[i], 1))
      strides[i] = step;
    return strides;
  }
  // A view of memory that ends with its last element.
  //
  // strides  [in]   empty: any
  gantry_value strided(gantry_dtype type, const Dims& dims, Dims strides, std::size_t offset) {
    if (strides.empty()) {
      for (std::size_t i = 0; i < dims.size(); ++i) strides.push_back(small(5) - (i == 0 ? 1 : 0));
    }
    std::int64_t first = 0, last = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 0) last = first = -1;
      const std::int64_t reach = strides[i] * (dims[i] - 1);
      (reach < 0 ? first : last) += reach;
    }
    const bool is_empty = std::ranges::find(dims, 0) != dims.end();
    const std::uint64_t count = is_empty ? 0 : static_cast<std::uint64_t>(last - first + 1);
    const std::uint64_t before =
        is_empty ? 0 : gantry_element_bytes(type, static_cast<std::uint64_t>(-first));
    const auto bytes = static_cast<std::int64_t>(gantry_element_bytes(type, count) + offset);
    auto owner =
        host_.tensor_new(compact_tensor(dtypes::uint8, std::span(&bytes, 1), Place::device));
    if (!owner.ok()) return {};
    fill(type, {fake_.memory_of(*owner->tensor()), static_cast<std::size_t>(bytes)}, offset);
    gantry_tensor view = compact_tensor(type, dims, Place::device, owner->tensor()->data);
    view.byte_offset = before + offset;
    if (choices_.below(4) != 0 || strides != compact_strides(dims)) view.strides = strides.data();
    gantry_object* const object = owner->object();
    made(std::move(*owner));
    return passed(host_.tensor_view(view, object));
  }
  // Numbers that are small, or repeated bytes of the input.
  void fill(gantry_dtype type, std::span<std::uint8_t> memory, std::size_t offset) {
    const std::uint8_t form = choices_.take<std::uint8_t>();
    const auto content = choices_.take_bytes(form % 8);
    const std::size_t unit = std::max<std::size_t>(element_bytes(type), 1);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const bool is_first = form < 128 || (i >= offset && (i - offset) % unit == 0);
      const std::uint8_t byte =
          content.empty() ? 0 : content[i / (form < 128 ? 1 : unit) % content.size()];
      memory[i] = !is_first ? 0 : form < 128 ? byte : byte % 8;
    }
  }
  // A tensor in the memory of an earlier argument or result.
  gantry_value alias(gantry_dtype type, Dims dims) {
    std::vector<Value>& of = choices_.below(2) == 0 ? temporary_ : kept_;
    if (of.empty()) return tensor(type);
    const gantry_value value =
        of[of.size() - 1 - choices_.below(std::min<std::size_t>(of.size(), 8))].get();
    const gantry_tensor* const tensor = gantry_value_tensor(&value);
    if (tensor == nullptr || tensor->strides != nullptr || value.kind != GANTRY_TENSOR)
      return value;
    const auto room = tensor_bytes(shape_of(*tensor), tensor->dtype);
    if (!room.ok()) return value;
    const std::uint64_t offset = choices_.below(9);
    const auto bytes = tensor_bytes(dims, type);
    if (!bytes.ok() || offset > *room || *bytes > *room - offset) return value;
    gantry_tensor view = compact_tensor(type, dims, tensor->device, tensor->data);
    view.byte_offset = tensor->byte_offset + offset;
    return passed(host_.tensor_view(view, value.object));
  }

  gantry_value matrix(char name) {
    const Subject& s = subject_;
    const bool is_batch = s.usage.starts_with("batch"),
               is_bytes = s.usage.find("u8") != s.usage.npos;
    const bool flips = name == 'A' ? s.flips_a : name == 'B' && s.flips_b;
    std::int64_t rows = name == 'B' ? s.depth : s.rows, columns = name == 'A' ? s.depth : s.columns;
    if (flips) std::swap(rows, columns);
    gantry_dtype type = s.type;
    if (is_bytes) type = name == 'A' ? dtypes::uint8 : name == 'B' ? dtypes::int8 : dtypes::int32;
    Dims dims = {rows, columns};
    if (is_batch) dims.insert(dims.begin(), name != 'C' && choices_.below(4) == 0 ? 1 : s.batch);
    const std::size_t form = choices_.below(8);
    if (form >= 2) return strided(type, dims, form < 4 ? Dims() : lines(dims, form), 0);
    return hostile_tensor(type, dims);
  }
  // Strides of adjacent rows or columns, with a distance.
  Dims lines(const Dims& dims, std::size_t form) {
    const std::size_t rank = dims.size();
    Dims strides(rank, 1);
    const std::size_t far = rank - (form % 2 == 0 ? 2 : 1), near = rank - (form % 2 == 0 ? 1 : 2);
    strides[near] = 1;
    strides[far] = form < 6 ? dims[near] + small(3) : small(8);
    if (rank == 3) strides[0] = choices_.below(4) == 0 ? small(9) : strides[far] * dims[far];
    return strides;
  }

  std::vector<gantry_value> convolution() {
    const std::int64_t groups = 1 + small(3), channels = groups * small(3),
                       outputs = groups * (1 + small(2));
    const std::int64_t height = small(6), width = small(6), kernel_y = 1 + small(3),
                       kernel_x = 1 + small(3), images = small(3);
    const bool is_last = choices_.below(2) != 0;
    std::int64_t numbers[6];
    for (std::size_t i = 0; i < 4; ++i) numbers[i] = small(3);
    for (std::size_t i = 4; i < 6; ++i) numbers[i] = 1 + small(3);
    const auto extent = [&](std::int64_t size, std::size_t axis, std::int64_t kernel) {
      const std::int64_t room = size + numbers[axis] + numbers[axis + 2] - kernel;
      return room < 0 ? 0 : room / numbers[4 + axis] + 1;
    };
    const std::int64_t out_y = extent(height, 0, kernel_y), out_x = extent(width, 1, kernel_x);
    const auto in = [&](std::int64_t c, std::int64_t y, std::int64_t x) {
      return is_last ? Dims{images, y, x, c} : Dims{images, c, y, x};
    };
    const Dims weights = is_last ? Dims{kernel_y, kernel_x, channels / groups, outputs}
                                 : Dims{outputs, channels / groups, kernel_y, kernel_x};
    std::vector<gantry_value> args;
    for (Dims dims : {in(channels, height, width), weights, in(outputs, out_y, out_x)}) {
      limit(dims);
      args.push_back(choices_.below(8) == 0
                         ? hostile_tensor(dtypes::float32, dims)
                         : strided(dtypes::float32, dims, compact_strides(dims), 0));
    }
    for (const std::int64_t number : numbers)
      args.push_back(int_value(choices_.below(16) == 0 ? integer() : number));
    args.push_back(int_value(groups));
    args.push_back(int_value(is_last));
    args.push_back({});
    args.push_back({});
    return args;
  }

  // Arguments of a convolution by the names that a usage for cuDNN has, with the same padding at opposite sides.
  std::vector<gantry_value> library_convolution() {
    const std::string_view usage = subject_.usage;
    const bool is_search = usage.find("find_algo") != usage.npos;
    const std::size_t rank = usage.find("pad_d") != usage.npos ? 3 : 2;
    const bool is_last = rank == 2 && choices_.below(2) != 0;
    const std::int64_t groups = 1 + small(2), images = small(3), inputs = groups * (1 + small(2)),
                       outputs = groups * (1 + small(2));
    Dims pads, strides, dilations, in, kernel, out;
    for (std::size_t i = 0; i < rank; ++i) {
      pads.push_back(small(3));
      strides.push_back(1 + small(2));
      dilations.push_back(1 + small(2));
      in.push_back(small(6));
      kernel.push_back(1 + small(3));
      const std::int64_t room = in[i] + 2 * pads[i] - ((kernel[i] - 1) * dilations[i] + 1);
      out.push_back(room < 0 ? 0 : room / strides[i] + 1);
    }
    const auto dims_of = [&](std::int64_t first, std::int64_t channels, const Dims& spatial) {
      Dims dims = {first};
      dims.insert(dims.end(), spatial.begin(), spatial.end());
      dims.insert(is_last ? dims.end() : dims.begin() + 1, channels);
      return dims;
    };
    const gantry_dtype type = subject_.type;
    const auto array = [&](const Dims& dims) {
      if (is_search) return choices_.below(8) == 0 ? other() : made(host_.shape(dims));
      return choices_.below(8) == 0 ? hostile_tensor(type, dims)
                                    : strided(type, dims, compact_strides(dims), 0);
    };
    const auto value_of = [&](std::string_view name) -> gantry_value {
      const auto is = [&](std::initializer_list<std::string_view> names) {
        return is_one_of(name, names);
      };
      const auto axis = static_cast<std::size_t>(name.ends_with("_w")                ? rank - 1
                                                 : name.ends_with("_h") && rank == 3 ? 1
                                                                                     : 0);
      if (is({"x", "dx"})) return array(dims_of(images, inputs, in));
      if (is({"w", "dw"})) return array(dims_of(outputs, inputs / groups, kernel));
      if (is({"y", "dy"})) return array(dims_of(images, outputs, out));
      if (is({"bias"})) return strided(type, {outputs}, {1}, 0);
      if (is({"dtype", "sum_dtype"}))
        return dtype_value(choices_.below(4) == 0 ? any_type() : type);
      if (is({"pads"})) return made(host_.shape(pads));
      if (is({"strides"})) return made(host_.shape(strides));
      if (is({"dilations"})) return made(host_.shape(dilations));
      if (is({"coefficient"})) return number();
      std::int64_t given = small(7);
      if (is({"mode"})) given = small(2);
      if (is({"layout"})) given = is_last ? 1 : 0;
      if (is({"algorithm"})) given = small(4) - 1;
      if (is({"groups"})) given = groups;
      if (is({"rank"})) given = static_cast<std::int64_t>(rank);
      if (name.starts_with("pad_")) given = pads[axis];
      if (name.starts_with("stride_")) given = strides[axis];
      if (name.starts_with("dilation_")) given = dilations[axis];
      return int_value(choices_.below(32) == 0 ? integer() : given);
    };
    std::vector<gantry_value> args;
    for (std::size_t i = 0; i < count_of(usage); ++i)
      args.push_back(value_of(detail::argument_name(usage, i)));
    return args;
  }

  Place place_{fake_};
  Plugin plugin_;
  std::vector<const Function*> functions_;
  // that an address is for
  std::vector<std::uint8_t> memory_;
  const gantry_env env_{Place::device, nullptr, &fake_, nullptr};
  Subject subject_;
};

}  // namespace gantry::fuzz
