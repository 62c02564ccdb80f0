// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry::graph {
namespace {

constexpr std::int32_t cpu = 1;

std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

std::string device_text(gantry_device_id device) {
  return concat("device ", device.type, ":", device.index);
}

std::string describe(const gantry_tensor& tensor) {
  const bool has_shape = tensor.shape != nullptr && tensor.ndim > 0;
  const auto rank = static_cast<std::size_t>(has_shape ? tensor.ndim : 0);
  return type_text(tensor.dtype, std::span(tensor.shape, rank));
}

bool is_compact(const gantry_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] == 0) return true;
    // The stride of an extent of 1 is never used.
    if (tensor.shape[axis] == 1) continue;
    if (tensor.strides[axis] != expected) return false;
    if (__builtin_mul_overflow(expected, tensor.shape[axis], &expected)) return false;
  }
  return true;
}

}  // namespace

Status Memory::create(const Source& source, std::span<const gantry_device_id> devices,
                      const gantry_env* env) {
  GANTRY_CHECK(resolve_devices(source, devices));
  GANTRY_TRY(plan_, plan_storage(graph(), devices_));
  const std::size_t entry_count = graph().entries.size();
  tensors_.resize(entry_count);
  cells_.resize(entry_count);
  flat_cells_.resize(entry_count);
  flat_extents_.resize(entry_count);
  bindings_.resize(plan_.values.size());
  linked_.resize(plan_.values.size());

  GANTRY_CHECK(bind_linked(env));
  if (source.with_parameters) GANTRY_CHECK(bind_parameters());
  GANTRY_CHECK(allocate_slots());
  if (source.with_parameters) GANTRY_CHECK(copy_parameters(env));
  return {};
}

// The graph has types as the artifact's numbers; the caller passes the device of each type.
Status Memory::resolve_devices(const Source& source, std::span<const gantry_device_id> devices) {
  std::int64_t last_number = -1;
  gantry_device_id last = devices.front();
  for (std::uint32_t e = 0; e < graph().entries.size(); ++e) {
    const std::int64_t number = graph().entries[e].device_number;
    if (number < 0) {
      devices_.push_back(devices.front());
      continue;
    }
    if (number != last_number) {
      std::int32_t type = 0;
      StatusBuffer status;
      const gantry_host* table = host_.table();
      const gantry_code code = table->device_type_in(
          table, source.node, static_cast<std::int32_t>(number), &type, status.get());
      if (code != GANTRY_OK) return status.error(code, "host function device_type_in");
      const auto found = std::ranges::find(devices, type, &gantry_device_id::type);
      if (found == devices.end()) {
        std::string given;
        for (const gantry_device_id device : devices)
          given += concat(given.empty() ? "" : ", ", device.type, ":", device.index);
        return invalid("graph requires a device of type ", type, " for entry ", e,
                       ", devices given are ", given)
            .with_reason("DEVICE");
      }
      last_number = number;
      last = *found;
    }
    devices_.push_back(last);
  }
  return {};
}

// True if data in the file or the library can be used in place: they are aligned, and never
// written.
bool Memory::may_stay_in_place(const StoredValue& value, const void* data) const {
  const Slot& slot = plan_.slots[value.slot];
  return value.inputs == 1 && !slot.written && slot.device.type == cpu &&
         address_of(data) % in_place_alignment == 0;
}

// Constants that v0.8 linked into the library, where a function returns them by storage id.
Status Memory::bind_linked(const gantry_env* env) {
  Result<ObjectRef> lookup = host_.find(node_, GANTRY_FIND_IMPORTS, "_lookup_linked_param");
  if (!lookup.ok()) {
    if (lookup.error().code == Code::not_found) return {};
    return std::move(lookup).error().at("while looking for constants linked into the library");
  }
  for (std::uint32_t v = 0; v < plan_.values.size(); ++v) {
    const StoredValue& value = plan_.values[v];
    const Slot& slot = plan_.slots[value.slot];
    if (value.inputs == 0 || slot.storage_id < 0) continue;
    const gantry_value id = int_value(slot.storage_id);
    GANTRY_TRY(const Value pointer, host_.call(lookup->get(), env, {&id, 1}));
    if (pointer.kind() != GANTRY_POINTER || pointer.get().p == nullptr) continue;
    linked_[v] = true;
    const std::uint32_t e = value.entries.front();
    const GraphEntry& entry = graph().entries[e];
    gantry_tensor constant{pointer.get().p,
                           {cpu, 0},
                           static_cast<std::int32_t>(entry.shape.size()),
                           entry.dtype,
                           const_cast<std::int64_t*>(entry.shape.data()),
                           nullptr,
                           0};
    if (may_stay_in_place(value, constant.data)) {
      GANTRY_CHECK(bind_value(v, constant, lookup->get(), {Owner::lender}));
      continue;
    }
    GANTRY_TRY(const Value own, allocate(slot, entry.bytes));
    GANTRY_CHECK(bind_value(v, *own.tensor(), own.object(), {Owner::executor}));
    GANTRY_CHECK(host_.tensor_copy(constant, cells_[e], env));
  }
  return {};
}

Status Memory::bind_parameters() {
  for (const Parameter& parameter : payload_->parameters) {
    const auto input = graph().input_by_name.find(parameter.name);
    if (input == graph().input_by_name.end()) continue;
    const std::uint32_t v = plan_.value_of[graph().input_entry(input->second)];
    const gantry_tensor view = view_of_parameter(parameter);
    if (!payload_->kept.pin || !may_stay_in_place(plan_.values[v], view.data)) continue;
    GANTRY_CHECK(bind_value(v, view, payload_->kept.pin.get(), {Owner::lender}));
  }
  return {};
}

// Allocates memory for each slot that an entry needs.
Status Memory::allocate_slots() {
  std::vector<Value> slots(plan_.slots.size());
  for (std::uint32_t v = 0; v < plan_.values.size(); ++v) {
    const StoredValue& value = plan_.values[v];
    if (value.entries.empty() || tensors_[value.entries.front()].tensor() != nullptr) continue;
    Value& slot = slots[value.slot];
    if (slot.tensor() == nullptr) {
      GANTRY_TRY(slot, allocate(plan_.slots[value.slot], plan_.slots[value.slot].bytes));
    }
    GANTRY_CHECK(bind_value(v, *slot.tensor(), slot.object(), {Owner::executor}));
  }
  return {};
}

Status Memory::copy_parameters(const gantry_env* env) {
  for (const Parameter& parameter : payload_->parameters) {
    const auto input = graph().input_by_name.find(parameter.name);
    if (input == graph().input_by_name.end()) continue;
    const std::uint32_t e = graph().input_entry(input->second);
    if (binding(e).owner != Owner::executor) continue;
    Status copied = copy_in(e, view_of_parameter(parameter), env);
    if (!copied.ok())
      return std::move(copied).error().at("while copying parameter ", quoted(parameter.name));
  }
  return {};
}

Result<Value> Memory::allocate(const Slot& slot, std::uint64_t bytes) const {
  auto extent = static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 1));
  const gantry_tensor like{
      nullptr, slot.device, 1, {static_cast<std::uint8_t>(TypeCode::uint), 8, 1},
      &extent, nullptr,     0};
  Result<Value> memory = host_.tensor_new(like);
  if (!memory.ok()) {
    return std::move(memory).error().at("while allocating storage ", slot.storage_id, ", ", bytes,
                                        " bytes on ", device_text(slot.device));
  }
  return memory;
}

Status Memory::check_fits(std::uint32_t e, const gantry_tensor& what) const {
  const GraphEntry& entry = graph().entries[e];
  const auto refuse = [](const auto&... why) { return invalid(why...).with_reason("ZERO_COPY"); };
  const gantry_device_id device = devices_[e];
  if (what.device.type != device.type || what.device.index != device.index) {
    return refuse("tensor is on ", device_text(what.device), ", expected ", device_text(device));
  }
  const bool same_shape = what.ndim == static_cast<std::int32_t>(entry.shape.size()) &&
                          std::equal(entry.shape.begin(), entry.shape.end(), what.shape);
  if (!same_shape || !same_dtype(what.dtype, entry.dtype)) {
    return refuse("tensor is ", describe(what), ", expected ", type_text(entry));
  }
  if (!is_compact(what))
    return refuse("tensor ", describe(what), " has strides, expected dense rows");

  GANTRY_TRY(const bool opaque, [&]() -> Result<bool> {
    gantry_device found{};
    StatusBuffer status;
    const gantry_code code = host_.table()->device_get(host_.table(), device, &found, status.get());
    if (code != GANTRY_OK) return status.error(code, "host function device_get");
    return (found.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0;
  }());
  if (opaque) {
    if (what.byte_offset == 0) return {};
    return refuse("tensor begins ", what.byte_offset,
                  " bytes into its memory, expected 0: addresses on ", device_text(device),
                  " are handles");
  }
  const std::uint64_t address = address_of(what.data) + what.byte_offset;
  if (entry.bytes != 0 && address % in_place_alignment != 0) {
    return refuse("tensor is at ", Hex{address}, ", ", address % in_place_alignment,
                  " bytes past a multiple of ", in_place_alignment);
  }
  return {};
}

Status Memory::bind(std::uint32_t e, const gantry_tensor& what, gantry_object* keeper,
                    Binding binding) {
  return bind_value(plan_.value_of[e], what, keeper, binding);
}

Status Memory::bind_value(std::uint32_t v, const gantry_tensor& what, gantry_object* keeper,
                          Binding binding) {
  // Operators are compiled for a byte offset of 0. Only a handle keeps its offset, and check_fits
  // requires that it is 0.
  void* data = what.byte_offset == 0 ? what.data : static_cast<char*>(what.data) + what.byte_offset;
  const StoredValue& value = plan_.values[v];
  std::vector<Value> views;
  for (const std::uint32_t e : value.entries) {
    const GraphEntry& entry = graph().entries[e];
    const gantry_tensor part{data,
                             devices_[e],
                             static_cast<std::int32_t>(entry.shape.size()),
                             entry.dtype,
                             const_cast<std::int64_t*>(entry.shape.data()),
                             nullptr,
                             0};
    GANTRY_TRY(Value view, host_.tensor_view(part, keeper));
    views.push_back(std::move(view));
  }
  // Nothing fails from here on.
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::uint32_t e = value.entries[i];
    const GraphEntry& entry = graph().entries[e];
    tensors_[e] = std::move(views[i]);
    cells_[e] = {data,
                 devices_[e],
                 static_cast<std::int32_t>(entry.shape.size()),
                 entry.dtype,
                 const_cast<std::int64_t*>(entry.shape.data()),
                 nullptr,
                 0};
    flat_extents_[e] = 1;
    // read_graph_json() has checked that it fits.
    for (const std::int64_t extent : entry.shape) flat_extents_[e] *= extent;
    flat_cells_[e] = {data, devices_[e], 1, entry.dtype, &flat_extents_[e], nullptr, 0};
  }
  bindings_[v] = binding;
  ++moves_;
  return {};
}

Status Memory::copy_in(std::uint32_t e, const gantry_tensor& from, const gantry_env* env) {
  const Owner owner = binding(e).owner;
  if (owner == Owner::executor || owner == Owner::output) {
    return host_.tensor_copy(from, cells_[e], env);
  }
  GANTRY_TRY(const Value own, allocate(plan_.slot_of(e), graph().entries[e].bytes));
  gantry_tensor target = cells_[e];
  target.data = own.tensor()->data;
  GANTRY_CHECK(host_.tensor_copy(from, target, env));
  return bind(e, *own.tensor(), own.object(), {Owner::executor});
}

}  // namespace gantry::graph
