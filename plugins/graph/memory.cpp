// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <utility>

namespace gantry::graph {
namespace {

// Describes a tensor of an entry.
gantry_tensor tensor_of(const GraphEntry& entry, gantry_device_id device, void* data) {
  return compact_tensor(entry.dtype, entry.shape, device, data);
}

Failure failed_copy(const Parameter& parameter, Failure failure) {
  return std::move(failure).at("while copying parameter ", quoted(parameter.name));
}

}  // namespace

std::string number_text(gantry_device_id device) {
  return concat("device ", device.type, ":", device.index);
}

bool has_shape(const gantry_tensor& tensor, const GraphEntry& entry) {
  return std::ranges::equal(shape_of(tensor), entry.shape);
}

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
  if (source.with_parameters) GANTRY_CHECK(bind_parameters(env));
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
      GANTRY_TRY(const std::int32_t type,
                 host_.device_type_in(source.node, static_cast<std::int32_t>(number)));
      const auto serves = [&](gantry_device_id device) { return serves_number(device.type, type); };
      const auto found = std::ranges::find_if(devices, serves);
      if (found == devices.end()) {
        const std::string_view name = dlpack_name(type);
        const auto text_of = [&](gantry_device_id id) { return host_.device_text(id); };
        return invalid("graph requires a device ", name.empty() ? concat(type) : quoted(name),
                       " for entry ", e, ", devices given are ", join(devices, ", ", text_of))
            .with_reason("DEVICE");
      }
      last_number = number;
      last = *found;
    }
    devices_.push_back(last);
  }
  for (const gantry_device_id device : devices_) {
    if (std::ranges::any_of(demands_,
                            [&](const auto& known) { return same_device(known.first, device); }))
      continue;
    GANTRY_TRY(const Demands demands, demands_of(host_, device));
    demands_.emplace_back(device, demands);
  }
  return {};
}

// True if data in the file or the library can be used in place: they are aligned, and never
// written.
bool Memory::may_stay_in_place(const StoredValue& value, const void* data) const {
  return is_constant(value) && plan_.slots[value.slot].device.type == cpu_device_type &&
         is_aligned_in_place(data);
}

Result<LinkedConstants> LinkedConstants::find(const Host& host, gantry_object* node) {
  auto lookup = host.find_optional(node, GANTRY_FIND_IMPORTS, "_lookup_linked_param");
  if (!lookup.ok())
    return std::move(lookup).error().at("while looking for constants linked into the library");
  LinkedConstants linked;
  linked.lookup_ = *std::move(lookup);
  return linked;
}

Result<const void*> LinkedConstants::data(const Host& host, std::int64_t storage_id,
                                          const gantry_env* env) const {
  if (!are_there() || storage_id < 0) return nullptr;
  const gantry_value id = int_value(storage_id);
  GANTRY_TRY(const Value pointer, host.call(lookup_.get(), env, {&id, 1}));
  return pointer.kind() == GANTRY_POINTER ? pointer.get().p : nullptr;
}

bool Memory::is_one_input(std::uint32_t e) const {
  const StoredValue& value = plan_.values[plan_.value_of[e]];
  return value.inputs == 1 && std::ranges::none_of(graph().heads, [&](const GraphOutput& head) {
           return &plan_.values[plan_.value_of[head.entry]] == &value;
         });
}

Status Memory::bind_linked(const gantry_env* env) {
  GANTRY_TRY(const LinkedConstants linked, LinkedConstants::find(host_, node_));
  if (!linked.are_there()) return {};
  for (std::uint32_t v = 0; v < plan_.values.size(); ++v) {
    const StoredValue& value = plan_.values[v];
    const Slot& slot = plan_.slots[value.slot];
    if (value.inputs == 0) continue;
    GANTRY_TRY(const void* const data, linked.data(host_, slot.storage_id, env));
    if (data == nullptr) continue;
    linked_[v] = true;
    const std::uint32_t e = value.entries.front();
    const GraphEntry& entry = graph().entries[e];
    const gantry_tensor constant = tensor_of(entry, {cpu_device_type, 0}, const_cast<void*>(data));
    if (may_stay_in_place(value, constant.data)) {
      GANTRY_CHECK(bind_value(v, constant, linked.keeper(), {Owner::lender}));
      continue;
    }
    GANTRY_TRY(const bool is_uploaded, bind_uploaded(v, constant, env));
    if (is_uploaded) continue;
    GANTRY_TRY(const Value own, allocate(slot, entry.bytes));
    GANTRY_CHECK(bind_value(v, *own.tensor(), own.object(), {Owner::executor}));
    GANTRY_CHECK(host_.tensor_copy(constant, cells_[e], env));
  }
  return {};
}

Result<bool> Memory::bind_uploaded(std::uint32_t v, const gantry_tensor& constant,
                                   const gantry_env* env) {
  const StoredValue& value = plan_.values[v];
  if (uploaded_ == nullptr || !is_constant(value)) return false;
  const std::uint32_t e = value.entries.front();
  const GraphEntry& entry = graph().entries[e];
  GANTRY_TRY(
      std::shared_ptr<const Value> kept,
      uploaded_->get(element_address(constant), entry.bytes, devices_[e], [&]() -> Result<Value> {
        GANTRY_TRY(Value made, allocate(plan_.slots[value.slot], entry.bytes));
        // Complete on return, for executors in other streams.
        GANTRY_CHECK(
            host_.tensor_copy(constant, tensor_of(entry, devices_[e], made.tensor()->data), env));
        return made;
      }));
  GANTRY_CHECK(bind_value(v, *kept->tensor(), kept->object(), {Owner::lender}));
  shared_.push_back(std::move(kept));
  return true;
}

Status Memory::bind_parameters(const gantry_env* env) {
  for (const Parameter* parameter : payload_->parameters) {
    const auto input = graph().input_by_name.find(parameter->name);
    if (input == graph().input_by_name.end()) continue;
    const std::uint32_t v = plan_.value_of[graph().input_entry(input->second)];
    const gantry_tensor view = view_of_parameter(*parameter);
    if (payload_->kept.pin && may_stay_in_place(plan_.values[v], view.data)) {
      GANTRY_CHECK(bind_value(v, view, payload_->kept.pin.get(), {Owner::lender}));
      continue;
    }
    auto uploaded = bind_uploaded(v, view, env);
    if (!uploaded.ok()) return failed_copy(*parameter, std::move(uploaded).failure());
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
  for (const Parameter* parameter : payload_->parameters) {
    const auto input = graph().input_by_name.find(parameter->name);
    if (input == graph().input_by_name.end()) continue;
    const std::uint32_t e = graph().input_entry(input->second);
    if (binding(e).owner != Owner::executor) continue;
    Status copied = copy_in(e, view_of_parameter(*parameter), env);
    if (!copied.ok()) return failed_copy(*parameter, std::move(copied).failure());
  }
  return {};
}

Result<Value> Memory::allocate(const Slot& slot, std::uint64_t bytes) const {
  const std::int64_t shape[] = {static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 1))};
  Result<Value> memory = host_.tensor_new(compact_tensor(dtypes::uint8, shape, slot.device));
  if (!memory.ok()) {
    return std::move(memory).error().at("while allocating storage ", slot.storage_id, ", ",
                                        ByteCount(bytes), " on ", number_text(slot.device));
  }
  return memory;
}

Status Memory::check_fits(std::uint32_t e, const gantry_tensor& what) const {
  const auto demands = std::ranges::find_if(
      demands_, [&](const auto& known) { return same_device(known.first, devices_[e]); });
  return check_zero_copy(host_, what, tensor_of(graph().entries[e], devices_[e], nullptr),
                         demands->second);
}

Status Memory::bind(std::uint32_t e, const gantry_tensor& what, gantry_object* keeper,
                    Binding binding) {
  return bind_value(plan_.value_of[e], what, keeper, binding);
}

Status Memory::bind_value(std::uint32_t v, const gantry_tensor& what, gantry_object* keeper,
                          Binding binding) {
  void* const data = element_address(what);
  const StoredValue& value = plan_.values[v];
  std::vector<Value> views;
  for (const std::uint32_t e : value.entries) {
    const gantry_tensor part = tensor_of(graph().entries[e], devices_[e], data);
    GANTRY_TRY(Value view, host_.tensor_view(part, keeper));
    views.push_back(std::move(view));
  }
  // Nothing fails from here on.
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::uint32_t e = value.entries[i];
    const GraphEntry& entry = graph().entries[e];
    tensors_[e] = std::move(views[i]);
    cells_[e] = tensor_of(entry, devices_[e], data);
    flat_extents_[e] = 1;
    // read_graph_json() has checked that it fits.
    for (const std::int64_t extent : entry.shape) flat_extents_[e] *= extent;
    flat_cells_[e] = compact_tensor(entry.dtype, {&flat_extents_[e], 1}, devices_[e], data);
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
