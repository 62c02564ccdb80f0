// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/tensor.hpp"

#include "core/base/process_end.hpp"
#include "core/base/running_code.hpp"
#include "core/engine/tensor/compact_strides.hpp"
#include "core/engine/tensor/cpu_device.hpp"
#include "core/engine/tensor/stream_order.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <optional>

namespace gantry {
namespace {

static_assert(offsetof(TensorObject, tensor) == sizeof(gantry_object));

// Frees the data before it releases the device, which is required for that, or the owner.
void destroy_tensor(void* self, std::int32_t flags) {
  auto* const object = static_cast<TensorObject*>(self);
  if ((flags & GANTRY_DELETE_CONTENT) != 0) {
    const NoCancellation guard;
    if (const Device* const device = object->device.get()) {
      const bool is_host_scope = object->tensor.device.type != device->type;
      device_free(*device, object->device_index, object->tensor.data,
                  is_host_scope ? 0 : object->bytes);
    }
    object->~TensorObject();
  }
  if ((flags & GANTRY_DELETE_MEMORY) != 0) std::free(self);
}
void delete_tensor(void* self, std::int32_t flags) { delete_nested(self, flags, destroy_tensor); }

// Allocates the object followed by copies of shape and strides, in one block. Does not set `bytes`.
//
// what     [in]   checked by data_bytes()
Result<Ref<TensorObject>> new_tensor_block(const gantry_tensor& what) {
  const auto rank = static_cast<std::size_t>(what.ndim);
  // does not overflow: rank < 2^31
  const std::size_t words = 2 * rank;
  void* const block = std::malloc(sizeof(TensorObject) + words * sizeof(std::int64_t));
  if (block == nullptr) return exhausted("tensor: no memory for ", words, " extents and strides");
  auto* const object = new (block) TensorObject{};
  auto* const extents = reinterpret_cast<std::int64_t*>(object + 1);
  object->header = fresh_header(GANTRY_TENSOR, delete_tensor);
  object->tensor = what;
  object->tensor.shape = std::copy_n(what.shape, rank, extents) - rank;
  if (what.strides != nullptr) {
    object->tensor.strides = std::copy_n(what.strides, rank, extents + rank) - rank;
  }
  return Ref<TensorObject>::adopt(object);
}

gantry_location location_of(const gantry_tensor& tensor) {
  return {tensor.data, tensor.byte_offset, tensor.device};
}

void* stream_for(gantry_device_id device, const gantry_env* env) {
  return env != nullptr ? gantry_env_stream(env, device) : nullptr;
}

// Calls copy of a device table, on the stream of device `at`.
Status table_copy(const Device& device, gantry_device_id at, const gantry_copy& what,
                  const gantry_env* env) {
  return call_table(device, at.index, "copy", [&](gantry_status* out) {
    return device.table->copy(device.self, at.index, &what, stream_for(at, env), out);
  });
}

Status synchronize(const Device& device, gantry_device_id at, const gantry_env* env) {
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* out) {
    return device.table->synchronize(device.self, at.index, stream_for(at, env), out);
  });
  if (code != GANTRY_OK) return status.error(code, concat("synchronize of ", described(device)));
  return {};
}

// Returns the host address of memory of a device, after the work in its stream; nullopt: the host
// does not address it, or reads it slowly.
Result<std::optional<gantry_location>> addressed(const Device& device,
                                                 const gantry_location& location,
                                                 const gantry_env* env) {
  GANTRY_TRY(const Demands demands, device_demands(device, location.device.index));
  gantry_location found{location.data, location.byte_offset, {kCpu, 0}};
  if (demands.is_host_memory) {
    GANTRY_CHECK(synchronize(device, location.device, env));
    return std::optional(found);
  }
  if (device.table->host_address == nullptr) return std::optional<gantry_location>();
  if (!may_call(device)) return process_end_error(concat("host_address of ", described(device)));
  found.data = nullptr;
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* out) {
    return device.table->host_address(device.self, location.device.index, location.data,
                                      &found.data, out);
  });
  if (code == GANTRY_UNSUPPORTED) return std::optional<gantry_location>();
  if (code != GANTRY_OK) return status.error(code, concat("host_address of ", described(device)));
  if (found.data == nullptr) {
    return bug(described(device), ": host_address succeeds but returns NULL")
        .with_reason("DEVICE_ALLOC");
  }
  GANTRY_CHECK(synchronize(device, location.device, env));
  return std::optional(found);
}

// Copies between two devices with one copy, if the host addresses the memory of one of them.
//
// returns  false  it addresses neither
Result<bool> copy_addressed(const Device& source, const Device& target, const gantry_copy& whole,
                            const gantry_env* env) {
  gantry_copy once = whole;
  once.flags = GANTRY_COPY_BLOCKING;
  GANTRY_TRY(const auto from, addressed(source, whole.from, env));
  if (from) {
    once.from = *from;
    GANTRY_CHECK(table_copy(target, whole.to.device, once, env));
    return true;
  }
  GANTRY_TRY(const auto to, addressed(target, whole.to, env));
  if (!to) return false;
  once.to = *to;
  GANTRY_CHECK(table_copy(source, whole.from.device, once, env));
  return true;
}

// Copies through host memory, between devices of different types or of one type whose table does
// not copy between its devices.
Status copy_staged(const Device& source, const Device& target, const gantry_copy& whole,
                   const gantry_env* env) {
  GANTRY_TRY(const bool is_copied, copy_addressed(source, target, whole, env));
  if (is_copied) return {};
  const std::uint64_t max = std::min(whole.size, kStagingBytes);
  // Page-locked memory of one device is plain memory for the other.
  StagingMemory::Use kept = source.staging->use(source, whole.from.device.index, max);
  if (kept.data() == nullptr) kept = target.staging->use(target, whole.to.device.index, max);
  std::unique_ptr<char[]> plain;
  if (kept.data() == nullptr) {
    plain.reset(new (std::nothrow) char[max]);
    if (plain == nullptr)
      return exhausted("tensor copy: no memory for ", ByteCount(max), " of staging");
  }
  const gantry_location host{kept.data() != nullptr ? kept.data() : plain.get(), 0, {kCpu, 0}};
  for (std::uint64_t done = 0; done < whole.size; done += max) {
    gantry_copy down = whole;
    down.flags = GANTRY_COPY_BLOCKING;
    down.size = std::min(max, whole.size - done);
    down.from.byte_offset += done;
    gantry_copy up = down;
    up.to.byte_offset += done;
    down.to = host;
    up.from = host;
    GANTRY_CHECK(table_copy(source, whole.from.device, down, env));
    GANTRY_CHECK(table_copy(target, whole.to.device, up, env));
  }
  return {};
}

// Copies between devices of one table. Between two devices, the copy is on the stream of the
// source, after work that is already on the stream of the target and before later work on it.
Status copy_within(const Device& device, const gantry_copy& what, const gantry_env* env) {
  const gantry_device_id from = what.from.device, to = what.to.device;
  if (from.index == to.index) return table_copy(device, from, what, env);
  const DeviceStream source{from.index, stream_for(from, env)},
      target{to.index, stream_for(to, env)};
  GANTRY_CHECK(order_streams(device, target, source));
  Status copied = table_copy(device, from, what, env);
  if (copied.ok()) return order_streams(device, source, target);
  if (copied.error().code != Code::unsupported) return copied;
  return copy_staged(device, device, what, env);
}

}  // namespace

Result<std::uint64_t> data_bytes(const gantry_tensor& tensor) {
  if (tensor.ndim < 0) return invalid("tensor rank is ", tensor.ndim, ", minimum is 0");
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    return invalid("tensor of rank ", tensor.ndim, " has no shape");
  }
  if (tensor.dtype.bits == 0 || tensor.dtype.lanes == 0) {
    return invalid("tensor has elements of ", std::uint32_t{tensor.dtype.bits}, " bits and ",
                   std::uint32_t{tensor.dtype.lanes}, " lanes, the minimum of each is 1");
  }
  Result<std::uint64_t> bytes = tensor_bytes(shape_of(tensor), tensor.dtype);
  // invalid and not malformed: the shape is from the caller and not from a file
  if (!bytes.ok()) return invalid("tensor ", bytes.error().message);
  return bytes;
}

Status check_packed(const gantry_tensor& tensor) {
  if (!is_packed(tensor.dtype) || is_compact(tensor)) return {};
  return unsupported("tensor ", tensor_text(tensor),
                     " has strides, and its elements begin within bytes: only compact ones are "
                     "supported")
      .with_reason("DTYPE_PACKED");
}

std::string describe(const gantry_tensor& tensor, const DeviceSet& devices) {
  std::string text = tensor_text(tensor) + " on ";
  if (const auto* device = devices.find(tensor.device.type)) {
    text.append((*device)->name);
  } else if (const auto known = dlpack_name(tensor.device.type); !known.empty()) {
    text.append(known);
  } else {
    text.append(concat("device ", tensor.device.type));
  }
  return text.append(concat(":", tensor.device.index));
}

Result<Ref<TensorObject>> tensor_new(const DeviceSet& devices, const gantry_tensor& like,
                                     std::string_view scope) {
  GANTRY_TRY(const std::uint64_t bytes, data_bytes(like));
  GANTRY_TRY(std::shared_ptr<const Device> device, devices.lend(like.device.type));
  const bool is_host_scope = scope == GANTRY_SCOPE_HOST;
  gantry_tensor compact = like;
  compact.strides = nullptr;
  compact.byte_offset = 0;
  if (is_host_scope) compact.device = {kCpu, 0};
  if (is_host_scope && device->type == kCpu) return tensor_new(devices, compact);
  GANTRY_TRY(Ref<TensorObject> object, new_tensor_block(compact));

  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.ndim = like.ndim;
  what.size = bytes;
  what.alignment = kTensorAlignment;
  what.shape = like.shape;
  what.dtype = like.dtype;
  what.scope = {scope.data(), scope.size()};
  auto data = device_alloc(*device, like.device.index, what);
  if (!data.ok() && is_host_scope && data.error().code == Code::unsupported)
    return tensor_new(devices, compact);
  if (!data.ok()) {
    return std::move(data).failure().at("while making tensor ", describe(compact, devices));
  }
  object->tensor.data = *data;
  // from here on destroy_tensor() frees the data
  object->device = std::move(device);
  object->device_index = like.device.index;
  object->bytes = bytes;
  return object;
}

bool is_own_tensor(const gantry_object& object) {
  void (*const deleter)(void*, std::int32_t) = delete_tensor;
  return object.deleter == deleter;
}

void set_strides(TensorObject& object) {
  const std::atomic_ref<std::int64_t*> strides(object.tensor.strides);
  if (strides.load(std::memory_order_acquire) != nullptr) return;
  // Several threads may write the same words.
  const auto rank = static_cast<std::size_t>(object.tensor.ndim);
  std::int64_t* const words = reinterpret_cast<std::int64_t*>(&object + 1) + rank;
  compact_strides(shape_of(object.tensor), [&](std::size_t axis, std::int64_t stride) {
    std::atomic_ref(words[axis]).store(stride, std::memory_order_relaxed);
  });
  strides.store(words, std::memory_order_release);
}

Result<Ref<TensorObject>> tensor_view(const gantry_tensor& what, gantry_object* owner) {
  GANTRY_TRY(const std::uint64_t bytes, data_bytes(what));
  if (what.strides != nullptr) GANTRY_CHECK(check_packed(what));
  if (bytes != 0 && what.data == nullptr) {
    return invalid("tensor view of ", ByteCount(bytes), " is at address 0");
  }
  GANTRY_TRY(Ref<TensorObject> object, new_tensor_block(what));
  object->owner = ObjectPtr::share(owner);
  object->bytes = bytes;
  return object;
}

Status tensor_copy(const DeviceSet& devices, const gantry_tensor& from, const gantry_tensor& to,
                   const gantry_env* env, HostSide host_side) {
  GANTRY_TRY(const std::uint64_t bytes, data_bytes(from));
  GANTRY_TRY(const std::uint64_t room, data_bytes(to));
  if (!same_dtype(from.dtype, to.dtype) || bytes != room) {
    return invalid("tensor copy: source is ", describe(from, devices), ", target is ",
                   describe(to, devices), ", expected the same type and number of elements");
  }
  for (const bool source : {true, false}) {
    const gantry_tensor& side = source ? from : to;
    if (!is_compact(side)) {
      return invalid("tensor copy: ", source ? "source " : "target ", describe(side, devices),
                     " is not compact");
    }
    if (side.data == nullptr && bytes != 0) {
      return invalid("tensor copy: ", source ? "source " : "target ", describe(side, devices),
                     " is at address 0");
    }
  }
  GANTRY_TRY(const std::shared_ptr<const Device> source, devices.get(from.device.type));
  GANTRY_TRY(const std::shared_ptr<const Device> target, devices.get(to.device.type));
  if (bytes == 0) return {};

  gantry_copy what{};
  what.struct_size = sizeof what;
  what.from = location_of(from);
  what.to = location_of(to);
  what.size = bytes;
  const bool from_host = from.device.type == kCpu;
  if ((from_host || to.device.type == kCpu) && host_side == HostSide::waits)
    what.flags = GANTRY_COPY_BLOCKING;
  if (source == target) return copy_within(*source, what, env);
  if (to.device.type == kCpu) return table_copy(*source, from.device, what, env);
  if (from_host) return table_copy(*target, to.device, what, env);
  return copy_staged(*source, *target, what, env);
}

}  // namespace gantry
