// SPDX-License-Identifier: Apache-2.0
//
// Sorting and prefix sums of the last axis, `tvm.contrib.thrust.*`.
//
// source   apache/tvm src/runtime/contrib/thrust/thrust.cu
#include "sort_scan.hpp"

#include "function.hpp"
#include "plugin.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry {
// generated from the files in kernels/
extern const std::string_view sort_scan_source;
extern const std::string_view sort_scan_ptx;
}  // namespace gantry

namespace gantry::cuda {
namespace {

// As in the source.
constexpr std::int64_t threads = 256, tile = 2048, digits = 16;
constexpr int digit_bits = 4;
constexpr int descending = 1, wrapped = 2;
constexpr std::int64_t max_blocks = INT32_MAX;

// A kernel and its parameters: p handle, l int64, i int32.
struct KernelRow {
  const char* name;
  std::string_view parameters;
};
constexpr KernelRow kernel_rows[] = {
    {"gantry_keys_f16", "ppplli"},   {"gantry_keys_f32", "ppplli"},
    {"gantry_keys_f64", "ppplli"},   {"gantry_keys_i32", "ppplli"},
    {"gantry_keys_i64", "ppplli"},   {"gantry_count_32", "pplli"},
    {"gantry_count_64", "pplli"},    {"gantry_move_32", "ppppplli"},
    {"gantry_move_64", "ppppplli"},  {"gantry_ordered_16", "pppll"},
    {"gantry_ordered_32", "pppll"},  {"gantry_ordered_64", "pppll"},
    {"gantry_wrapped_32", "pppll"},  {"gantry_wrapped_64", "pppll"},
    {"gantry_numbers_i32", "ppl"},   {"gantry_numbers_i64", "ppl"},
    {"gantry_numbers_f32", "ppl"},   {"gantry_numbers_f64", "ppl"},
    {"gantry_sums_i32", "pplli"},    {"gantry_sums_i64", "pplli"},
    {"gantry_sums_f32", "pplli"},    {"gantry_sums_f64", "pplli"},
    {"gantry_scan_i32", "pl"},       {"gantry_scan_i64", "pl"},
    {"gantry_scan_f32", "pl"},       {"gantry_scan_f64", "pl"},
    {"gantry_write_i32", "pppllii"}, {"gantry_write_i64", "pppllii"},
    {"gantry_write_f32", "pppllii"}, {"gantry_write_f64", "pppllii"},
};

Result<Payload> own_payload(bool is_source) {
  Payload payload;
  payload.format = is_source ? "cuda" : "ptx";
  payload.code = is_source ? sort_scan_source : sort_scan_ptx;
  if (is_source) {
    payload.source = payload.code;
  } else {
    GANTRY_TRY(payload.image, read_image(ByteReader::of_text(payload.code)));
  }
  for (const KernelRow& row : kernel_rows) {
    KernelInfo kernel;
    kernel.name = row.name;
    for (const char parameter : row.parameters)
      kernel.parameters.push_back(parameter == 'p'   ? dtypes::handle
                                  : parameter == 'l' ? dtypes::int64
                                                     : dtypes::int32);
    kernel.launch_tags = {"blockIdx.x", "threadIdx.x"};
    GANTRY_TRY(KernelCall call, KernelCall::parse(kernel));
    payload.calls.push_back(std::move(call));
    payload.kernels.add(std::move(kernel));
  }
  return payload;
}

// A matrix of which each row is sorted or added up.
struct Rows {
  std::int64_t rows = 0, length = 0;

  std::int64_t count() const { return rows * length; }
  std::int64_t tiles() const { return (length - 1) / tile + 1; }
};

// The device and stream of one call, and memory that its kernels share.
class Work {
 public:
  // device   [in]   of the tensors
  static Result<Work> begin(Plugin& plugin, const Call& call, gantry_device_id id) {
    GANTRY_TRY(Module* const module, plugin.sort_scan.module(plugin));
    GANTRY_TRY(Device* const device, plugin.gpus.at(id.index));
    gantry_env env = *call.env;
    env.stream = gantry_env_stream(call.env, id);
    env.device = id;
    return Work(call, *module, *device, env);
  }
  Work(Work&& other) noexcept
      : call_(other.call_),
        module_(other.module_),
        device_(other.device_),
        env_(other.env_),
        owned_(std::exchange(other.owned_, nullptr)),
        next_(other.next_) {}
  Work& operator=(Work&&) = delete;
  ~Work() {
    if (owned_ == nullptr) return;
    const auto scope = device_.enter();
    if (scope.ok())
      static_cast<void>(device_.memory.free_in_stream(owned_, device_.stream_of(env_.stream)).ok());
  }

  // Provides memory: the workspace that the caller passes, if it is large enough, else the device's.
  //
  // i        [in]   number of the optional argument
  // returns  INVALID      the argument is no tensor of bytes on the device
  //          UNSUPPORTED  the stream is captured, and the workspace is too small (CAPTURE)
  Status reserve(std::size_t i, std::uint64_t bytes) {
    std::uint64_t given = 0;
    if (i < call_.args.size() && call_.args[i].kind != GANTRY_NONE) {
      GANTRY_TRY(const gantry_tensor* const workspace, call_.tensor(i));
      if (!same_device(workspace->device, env_.device) || !is_compact(*workspace))
        return call_.wrong(i, concat("a compact tensor on ", device_text(env_.device)));
      if (!is_empty(*workspace)) {
        GANTRY_TRY(given, tensor_bytes(shape_of(*workspace), workspace->dtype));
      }
      const auto first = reinterpret_cast<std::uintptr_t>(workspace->data) + workspace->byte_offset;
      const std::uintptr_t aligned = (first + alignment - 1) / alignment * alignment;
      given = given < aligned - first ? 0 : given - (aligned - first);
      next_ = aligned;
    }
    if (given >= bytes) return {};
    const CUstream stream = device_.stream_of(env_.stream);
    GANTRY_TRY(const ContextScope scope, device_.enter());
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const Driver& driver = device_.driver;
    GANTRY_CHECK(driver.call(driver.stream_is_capturing, stream, &capture));
    if (capture != CU_STREAM_CAPTURE_STATUS_NONE) {
      return unsupported(call_.usage, ": a captured run requires a workspace of ", bytes,
                         " bytes, that of the call has ", given)
          .with_reason("CAPTURE");
    }
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = bytes;
    what.alignment = alignment;
    what.flags = GANTRY_ALLOC_IN_STREAM;
    GANTRY_TRY(owned_, device_.memory.alloc(what, stream));
    next_ = reinterpret_cast<std::uintptr_t>(owned_);
    return {};
  }
  // Returns a part of the reserved memory.
  void* take(std::uint64_t bytes) {
    void* const part = reinterpret_cast<void*>(next_);
    next_ += padded(bytes);
    return part;
  }
  static std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  // Starts a kernel with blocks of `threads`.
  Status launch(std::string_view name, std::int64_t blocks,
                std::initializer_list<gantry_value> parameters) const {
    GANTRY_TRY(Kernel* const kernel, module_.find(name));
    std::array<gantry_value, 12> args{};
    const auto end = std::copy(parameters.begin(), parameters.end(), args.begin());
    end[0] = int_value(blocks);
    end[1] = int_value(threads);
    return kernel->call({call_.usage, &env_, std::span(args).first(parameters.size() + 2)});
  }
  // The same for one thread for each of `count` elements.
  Status launch_each(std::string_view name, std::int64_t count,
                     std::initializer_list<gantry_value> parameters) const {
    return launch(name, (count - 1) / threads + 1, parameters);
  }

 private:
  static constexpr std::uint64_t alignment = 256;

  Work(const Call& call, Module& module, Device& device, const gantry_env& env)
      : call_(call), module_(module), device_(device), env_(env) {}

  const Call& call_;
  Module& module_;
  Device& device_;
  gantry_env env_;
  void* owned_ = nullptr;
  std::uintptr_t next_ = 0;
};

gantry_value pointer(const void* data) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = const_cast<void*>(data);
  return value;
}
gantry_value pointer(const gantry_tensor& tensor) {
  return pointer(static_cast<const char*>(tensor.data) + tensor.byte_offset);
}

Result<const gantry_tensor*> tensor_at(const Call& call, std::size_t i,
                                       const gantry_tensor* first = nullptr) {
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
  const bool is_there = first == nullptr ? tensor->device.type == cuda_type
                                         : same_device(tensor->device, first->device);
  if (!is_there || !is_compact(*tensor)) {
    return call.wrong(
        i, concat("a compact tensor on ",
                  first == nullptr ? concat("a device cuda") : device_text(first->device)));
  }
  if (first != nullptr && !std::ranges::equal(shape_of(*tensor), shape_of(*first))) {
    return call.refuse(call.title(i), " is ", tensor_text(*tensor),
                       ", expected the extents of argument 0, ", tensor_text(*first));
  }
  return tensor;
}

Result<Rows> rows_of(const Call& call, const gantry_tensor& x) {
  if (x.ndim < 1) return call.wrong(0, "a tensor of rank 1 or more");
  Rows rows;
  if (is_empty(x)) return rows;
  GANTRY_CHECK(tensor_bytes(shape_of(x), x.dtype));
  rows.length = x.shape[x.ndim - 1];
  rows.rows = 1;
  for (std::int32_t axis = 0; axis < x.ndim - 1; ++axis) rows.rows *= x.shape[axis];
  // Numbers in a row have 32 bits, and blocks are in one dimension of a grid.
  if (rows.length > INT32_MAX || rows.rows > max_blocks / rows.tiles() ||
      (rows.count() - 1) / threads >= max_blocks) {
    return call.refuse(tensor_text(x), " is too large, rows have at most ", INT32_MAX,
                       " elements and tensors at most ", max_blocks, " blocks of ", tile);
  }
  return rows;
}

// True if memory of two tensors with elements overlaps.
Result<bool> overlaps(const gantry_tensor& a, const gantry_tensor& b) {
  GANTRY_TRY(const std::uint64_t a_bytes, tensor_bytes(shape_of(a), a.dtype));
  GANTRY_TRY(const std::uint64_t b_bytes, tensor_bytes(shape_of(b), b.dtype));
  const auto first = [](const gantry_tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  };
  return first(a) < first(b) + b_bytes && first(b) < first(a) + a_bytes;
}

Status check_apart(const Call& call, std::size_t i, const gantry_tensor& from,
                   const gantry_tensor& to) {
  GANTRY_TRY(const bool is_shared, overlaps(from, to));
  if (is_shared) return call.refuse(call.title(i), " overlaps an input");
  return {};
}

// Returns "f32" for float32 if the type is among `types`; empty: it is not.
std::string name_of(gantry_dtype dtype, std::initializer_list<gantry_dtype> types) {
  for (const gantry_dtype type : types) {
    if (same_dtype(type, dtype))
      return concat(type.code == dtypes::float32.code ? 'f' : 'i', int{type.bits});
  }
  return {};
}

// The sorted rows: for each position the number of its element.
struct Sorted {
  const void* order;
};

// keys     [in]   the tensor of argument 0
// type     [in]   "f32"
// flags    [in]   of the kernel
// workspace [in]  number of the argument
Result<Sorted> sorted(Work& work, const gantry_tensor& keys, const Rows& rows,
                      const std::string& type, int flags, std::size_t workspace) {
  const auto count = static_cast<std::uint64_t>(rows.count());
  const bool is_wide = keys.dtype.bits == 64;
  const std::uint64_t key_bytes = count * (is_wide ? 8 : 4), order_bytes = count * 4;
  const auto count_numbers = static_cast<std::uint64_t>(rows.rows * digits * rows.tiles());
  GANTRY_CHECK(work.reserve(workspace, 2 * (Work::padded(key_bytes) + Work::padded(order_bytes)) +
                                           Work::padded(count_numbers * 4)));
  void* key_buffers[2] = {work.take(key_bytes), work.take(key_bytes)};
  void* order_buffers[2] = {work.take(order_bytes), work.take(order_bytes)};
  void* const counts = work.take(count_numbers * 4);

  const gantry_value length = int_value(rows.length), tiles = int_value(rows.tiles());
  GANTRY_CHECK(work.launch_each(concat("gantry_keys_", type), rows.count(),
                                {pointer(keys), pointer(key_buffers[0]), pointer(order_buffers[0]),
                                 int_value(rows.count()), length, int_value(flags)}));
  const std::string_view size = is_wide ? "64" : "32";
  // An even number of passes: the result is in the first buffers.
  for (int shift = 0; shift < keys.dtype.bits; shift += digit_bits) {
    const std::int64_t blocks = rows.rows * rows.tiles();
    GANTRY_CHECK(
        work.launch(concat("gantry_count_", size), blocks,
                    {pointer(key_buffers[0]), pointer(counts), length, tiles, int_value(shift)}));
    GANTRY_CHECK(work.launch("gantry_scan_i32", rows.rows,
                             {pointer(counts), int_value(digits * rows.tiles())}));
    GANTRY_CHECK(
        work.launch(concat("gantry_move_", size), blocks,
                    {pointer(key_buffers[0]), pointer(order_buffers[0]), pointer(key_buffers[1]),
                     pointer(order_buffers[1]), pointer(counts), length, tiles, int_value(shift)}));
    std::swap(key_buffers[0], key_buffers[1]);
    std::swap(order_buffers[0], order_buffers[1]);
  }
  return Sorted{order_buffers[0]};
}

// Writes the elements of x in the sorted order.
Status write_ordered(const Work& work, std::string_view kernel, const gantry_tensor& x,
                     const Sorted& sorted, const gantry_tensor& to, const Rows& rows) {
  return work.launch_each(concat(kernel, int{x.dtype.bits}), rows.count(),
                          {pointer(x), pointer(sorted.order), pointer(to), int_value(rows.count()),
                           int_value(rows.length)});
}

// sort(x, values, indices, ascending[, workspace])
Result<Value> sort(Plugin& plugin, const Call& call) {
  GANTRY_CHECK(call.count_is(4, 5));
  GANTRY_TRY(const gantry_tensor* const x, tensor_at(call, 0));
  GANTRY_TRY(const gantry_tensor* const values, tensor_at(call, 1, x));
  GANTRY_TRY(const gantry_tensor* const indices, tensor_at(call, 2, x));
  GANTRY_TRY(const bool is_ascending, call.flag(3));
  const std::string type = name_of(
      x->dtype, {dtypes::float16, dtypes::float32, dtypes::float64, dtypes::int32, dtypes::int64});
  if (type.empty()) return call.wrong(0, "a tensor of float16, float32, float64, int32 or int64");
  if (!same_dtype(values->dtype, x->dtype))
    return call.wrong(1, concat("a tensor of ", dtype_text(x->dtype)));
  const std::string number =
      name_of(indices->dtype, {dtypes::int32, dtypes::int64, dtypes::float32, dtypes::float64});
  if (number.empty()) return call.wrong(2, "a tensor of int32, int64, float32 or float64");
  GANTRY_TRY(const Rows rows, rows_of(call, *x));
  if (rows.rows == 0) return Value();
  GANTRY_CHECK(check_apart(call, 1, *x, *values));
  GANTRY_CHECK(check_apart(call, 2, *x, *indices));

  GANTRY_TRY(Work work, Work::begin(plugin, call, x->device));
  GANTRY_TRY(const Sorted order, sorted(work, *x, rows, type, is_ascending ? 0 : descending, 4));
  GANTRY_CHECK(write_ordered(work, "gantry_ordered_", *x, order, *values, rows));
  GANTRY_CHECK(
      work.launch_each(concat("gantry_numbers_", number), rows.count(),
                       {pointer(order.order), pointer(*indices), int_value(rows.count())}));
  return Value();
}

// stable_sort_by_key(keys, values, keys out, values out, for scatter[, workspace])
Result<Value> stable_sort_by_key(Plugin& plugin, const Call& call) {
  GANTRY_CHECK(call.count_is(5, 6));
  const gantry_tensor* tensors[4] = {};
  for (std::size_t i = 0; i < std::size(tensors); ++i) {
    GANTRY_TRY(tensors[i], tensor_at(call, i, tensors[0]));
  }
  const auto [keys, values, keys_out, values_out] = tensors;
  GANTRY_TRY(const bool is_for_scatter, call.flag(4));
  if (keys->ndim != 1) return call.wrong(0, "a tensor of rank 1");
  const std::string type =
      is_for_scatter
          ? name_of(keys->dtype, {dtypes::int32, dtypes::int64})
          : name_of(keys->dtype, {dtypes::int32, dtypes::int64, dtypes::float32, dtypes::float64});
  if (type.empty()) {
    return call.wrong(0, is_for_scatter ? "a tensor of int32 or int64, for a scatter"
                                        : "a tensor of int32, int64, float32 or float64");
  }
  if (values->dtype.lanes != 1 ||
      (values->dtype.bits != 16 && values->dtype.bits != 32 && values->dtype.bits != 64))
    return call.wrong(1, "a tensor of elements of 16, 32 or 64 bits");
  for (std::size_t i = 0; i < 2; ++i) {
    if (!same_dtype(tensors[i + 2]->dtype, tensors[i]->dtype))
      return call.wrong(i + 2, concat("a tensor of ", dtype_text(tensors[i]->dtype)));
  }
  GANTRY_TRY(const Rows rows, rows_of(call, *keys));
  if (rows.rows == 0) return Value();
  for (std::size_t i = 2; i < 4; ++i) {
    GANTRY_CHECK(check_apart(call, i, *keys, *tensors[i]));
    GANTRY_CHECK(check_apart(call, i, *values, *tensors[i]));
  }

  GANTRY_TRY(Work work, Work::begin(plugin, call, keys->device));
  GANTRY_TRY(const Sorted order, sorted(work, *keys, rows, type, is_for_scatter ? wrapped : 0, 5));
  GANTRY_CHECK(write_ordered(work, is_for_scatter ? "gantry_wrapped_" : "gantry_ordered_", *keys,
                             order, *keys_out, rows));
  GANTRY_CHECK(write_ordered(work, "gantry_ordered_", *values, order, *values_out, rows));
  return Value();
}

// The number of a type in the kernels, -1: there is none.
int summand_of(gantry_dtype dtype) {
  constexpr gantry_dtype types[] = {dtypes::uint8, dtypes::int32, dtypes::int64, dtypes::float32,
                                    dtypes::float64};
  const bool is_bool = dtype.lanes == 1 && ((dtype.code == dtypes::uint8.code && dtype.bits == 1) ||
                                            dtype.code == static_cast<int>(TypeCode::bool_));
  if (is_bool) return 0;
  for (std::size_t i = 0; i < std::size(types); ++i) {
    if (same_dtype(types[i], dtype)) return static_cast<int>(i);
  }
  return -1;
}

// sum_scan(x, out[, exclusive[, workspace]])
Result<Value> sum_scan(Plugin& plugin, const Call& call) {
  GANTRY_CHECK(call.count_is(2, 4));
  GANTRY_TRY(const gantry_tensor* const x, tensor_at(call, 0));
  GANTRY_TRY(const gantry_tensor* const out, tensor_at(call, 1, x));
  bool is_exclusive = false;
  if (call.args.size() > 2) {
    GANTRY_TRY(is_exclusive, call.flag(2));
  }
  const int summand = summand_of(x->dtype);
  if (summand < 0)
    return call.wrong(0, "a tensor of bool, uint8, int32, int64, float32 or float64");
  const std::string type =
      name_of(out->dtype, {dtypes::int32, dtypes::int64, dtypes::float32, dtypes::float64});
  const bool is_float = x->dtype.code == dtypes::float32.code;
  if (type.empty() || (is_float && type[0] != 'f')) {
    return call.wrong(1, is_float ? "a tensor of float32 or float64"
                                  : "a tensor of int32, int64, float32 or float64");
  }
  GANTRY_TRY(const Rows rows, rows_of(call, *x));
  if (rows.rows == 0) return Value();
  // A thread reads an element before it writes there.
  const bool is_in_place = pointer(*x).p == pointer(*out).p && x->dtype.bits == out->dtype.bits;
  if (!is_in_place) GANTRY_CHECK(check_apart(call, 1, *x, *out));

  GANTRY_TRY(Work work, Work::begin(plugin, call, x->device));
  const auto bytes = static_cast<std::uint64_t>(rows.rows * rows.tiles()) * out->dtype.bits / 8;
  GANTRY_CHECK(work.reserve(3, bytes));
  const gantry_value sums = pointer(work.take(bytes)), length = int_value(rows.length),
                     tiles = int_value(rows.tiles()), kind = int_value(summand);
  const std::int64_t blocks = rows.rows * rows.tiles();
  GANTRY_CHECK(
      work.launch(concat("gantry_sums_", type), blocks, {pointer(*x), sums, length, tiles, kind}));
  GANTRY_CHECK(work.launch(concat("gantry_scan_", type), rows.rows, {sums, tiles}));
  GANTRY_CHECK(work.launch(
      concat("gantry_write_", type), blocks,
      {pointer(*x), sums, pointer(*out), length, tiles, kind, int_value(is_exclusive ? 1 : 0)}));
  return Value();
}

constexpr FunctionRow rows_of_functions[] = {
    {"tvm.contrib.thrust.sort", "sort(x, values, indices, ascending[, workspace])", sort},
    {"tvm.contrib.thrust.stable_sort_by_key",
     "stable_sort_by_key(keys, values, keys_out, values_out, for_scatter[, workspace])",
     stable_sort_by_key},
    {"tvm.contrib.thrust.sum_scan", "sum_scan(x, out[, exclusive[, workspace]])", sum_scan},
};

}  // namespace

SortScan::SortScan() = default;
SortScan::~SortScan() = default;

Result<Module*> SortScan::module(Plugin& plugin) {
  const std::lock_guard lock(mutex_);
  if (module_ == nullptr) {
    GANTRY_TRY(Payload payload, own_payload(plugin.compiler.nvrtc().ok()));
    module_ = std::make_unique<Module>(plugin, std::move(payload));
  }
  return module_.get();
}

std::span<const FunctionRow> sort_scan_functions() { return rows_of_functions; }

}  // namespace gantry::cuda
