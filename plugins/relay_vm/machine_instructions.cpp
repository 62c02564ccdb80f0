// SPDX-License-Identifier: Apache-2.0
//
// What single instructions do: calls, storages and tensors, tuples, shapes, copies.
#include "machine.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::relay {
namespace {

bool is_empty(const gantry_tensor& tensor) { return std::ranges::count(shape_of(tensor), 0) != 0; }

}  // namespace

Status Machine::invoke(const Instruction& at, const AnyRef* caller) {
  GANTRY_CHECK(transfer());
  const std::size_t caller_at = static_cast<std::size_t>(caller - registers_.data());
  const auto next = static_cast<std::uint32_t>(&at - code_->program.instructions.data()) + 1;
  GANTRY_CHECK(push_frame(at.a, next, at.dst));
  AnyRef* to = registers_.data() + frames_.back().base;
  for (const std::uint32_t reg : code_->program.registers_of(at))
    *to++ = registers_[caller_at + reg];
  return {};
}

Status Machine::invoke_closure(const Instruction& at, const AnyRef* caller) {
  GANTRY_CHECK(transfer());
  GANTRY_TRY(const TupleObject* const closure, tuple_in(caller, at.a, ObjectKind::closure));
  const auto function = static_cast<std::uint32_t>(closure->tag);
  GANTRY_CHECK(check_arguments(function, closure->fields.size() + at.count));
  const std::size_t caller_at = static_cast<std::size_t>(caller - registers_.data());
  const auto next = static_cast<std::uint32_t>(&at - code_->program.instructions.data()) + 1;
  GANTRY_CHECK(push_frame(function, next, at.dst));
  AnyRef* to = registers_.data() + frames_.back().base;
  for (const AnyRef& captured : closure->fields) *to++ = captured;
  for (const std::uint32_t reg : code_->program.registers_of(at))
    *to++ = registers_[caller_at + reg];
  return {};
}

// Tuples are passed as their fields.
Status Machine::append_fields(const AnyRef* registers, std::uint32_t reg) {
  Object* const object = registers[reg].get();
  if (object == nullptr || object->kind != ObjectKind::tuple)
    return tensor_in(registers, reg).error();
  const auto& fields = static_cast<TupleObject*>(object)->fields;
  // Room for the fields besides the arguments of any instruction.
  if (arguments_.size() < argument_count_ + fields.size() + max_arguments_)
    arguments_.resize(argument_count_ + fields.size() + max_arguments_);
  for (const AnyRef& field : fields) {
    GANTRY_TRY(TensorObject* const tensor, tensor_in(&field, 0));
    arguments_[argument_count_++] = tensor_ref_value(&tensor->view);
  }
  return {};
}

// A call whose only output has no elements is not made.
Status Machine::invoke_packed(const Instruction& at, const AnyRef* registers) {
  argument_count_ = 0;
  for (const std::uint32_t reg : code_->program.registers_of(at)) {
    Object* const object = registers[reg].get();
    if (object != nullptr && object->kind == ObjectKind::tensor) [[likely]] {
      arguments_[argument_count_++] = tensor_ref_value(&static_cast<TensorObject*>(object)->view);
    } else {
      GANTRY_CHECK(append_fields(registers, reg));
    }
  }
  if (argument_count_ != 0) {
    const gantry_tensor& last = *arguments_[argument_count_ - 1].tensor;
    if (at.b == 1 && is_empty(last)) [[unlikely]]
      return {};
    if (!same_device(last.device, kernel_env_.device)) [[unlikely]] {
      kernel_env_.device = last.device;
      kernel_env_.stream = stream_of(last.device);
    }
  }
  gantry_value result{};
  const gantry_code code =
      host_.table()->call(host_.table(), packed_[at.a].get(), &kernel_env_, arguments_.data(),
                          static_cast<std::int32_t>(argument_count_), &result, status_to_write_);
  if (code != GANTRY_OK) [[unlikely]] {
    return status_.error(code, code_->program.packed_functions[at.a]);
  }
  if (result.kind >= GANTRY_OBJECT) [[unlikely]]
    gantry_release(result.object);
  return {};
}

Status Machine::alloc_storage(const Instruction& at, AnyRef* registers) {
  const RelayDevice& wanted = code_->program.devices[at.b];
  const gantry_device_id device = devices_[at.b];
  if (at.count != 0) {
    GANTRY_TRY(auto block, blocks_->take_scoped(device, wanted.scope, code_->program.extents_of(at),
                                                at.dtype, stream_of(device)));
    registers[at.dst] = heap_.storage(std::move(block));
    return {};
  }
  GANTRY_TRY(const std::int64_t bytes, integer_in(registers, at.a));
  if (bytes < 0)
    return invalid("storage has ", bytes, " bytes, minimum is 0").with_reason("STORAGE");
  GANTRY_TRY(auto block,
             blocks_->take(device, static_cast<std::uint64_t>(bytes), stream_of(device)));
  registers[at.dst] = heap_.storage(std::move(block));
  return {};
}

Status Machine::alloc_tensor(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const std::int64_t offset, integer_in(registers, at.b));
  Ref<TensorObject> tensor = heap_.tensor();
  const auto extents = code_->program.extents_of(at);
  tensor->extents.assign(extents.begin(), extents.end());
  Object* const storage = registers[at.a].get();
  if (storage == nullptr || storage->kind != ObjectKind::storage)
    return invalid("register ", number_in_file(at.a), " has no storage").with_reason("REGISTER");
  GANTRY_CHECK(place(*tensor, Ref(static_cast<StorageObject*>(storage)), offset, at.dtype));
  registers[at.dst] = std::move(tensor);
  return {};
}

Status Machine::alloc_tensor_reg(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const std::int64_t offset, integer_in(registers, at.b));
  GANTRY_TRY(TensorObject* const shape, tensor_in(registers, at.c));
  Ref<TensorObject> tensor = heap_.tensor();
  GANTRY_CHECK(read_extents(*shape, tensor->extents));
  Object* const storage = registers[at.a].get();
  if (storage == nullptr || storage->kind != ObjectKind::storage)
    return invalid("register ", number_in_file(at.a), " has no storage").with_reason("REGISTER");
  GANTRY_CHECK(place(*tensor, Ref(static_cast<StorageObject*>(storage)), offset, at.dtype));
  registers[at.dst] = std::move(tensor);
  return {};
}

Status Machine::alloc_tuple(const Instruction& at, ObjectKind kind, std::int64_t tag,
                            AnyRef* registers) {
  Ref<TupleObject> tuple = heap_.tuple(kind, tag, at.count);
  for (const std::uint32_t reg : code_->program.registers_of(at)) {
    if (!registers[reg])
      return invalid("register ", number_in_file(reg), " has no value").with_reason("REGISTER");
    tuple->fields.push_back(registers[reg]);
  }
  registers[at.dst] = std::move(tuple);
  return {};
}

Status Machine::get_field(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const TupleObject* const tuple, tuple_in(registers, at.a, ObjectKind::tuple));
  if (static_cast<std::uint64_t>(at.value) >= tuple->fields.size()) {
    return invalid("field ", at.value, " of a tuple, field count is ", tuple->fields.size())
        .with_reason("REGISTER");
  }
  // The tuple may be released by this.
  AnyRef field = tuple->fields[static_cast<std::size_t>(at.value)];
  registers[at.dst] = std::move(field);
  return {};
}

Status Machine::shape_of(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const TensorObject* const tensor, tensor_in(registers, at.a));
  const auto extents = gantry::shape_of(tensor->view);
  const std::int64_t rank[] = {static_cast<std::int64_t>(extents.size())};
  GANTRY_TRY(auto made, new_tensor(host_device(), dtypes::int64, rank));
  std::ranges::copy(extents, static_cast<std::int64_t*>(made->view.data));
  registers[at.dst] = std::move(made);
  return {};
}

Status Machine::reshape(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(TensorObject* const tensor, tensor_in(registers, at.a));
  GANTRY_TRY(TensorObject* const shape, tensor_in(registers, at.b));
  Ref<TensorObject> made = heap_.tensor();
  GANTRY_CHECK(read_extents(*shape, made->extents));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(made->extents, tensor->view.dtype));
  GANTRY_TRY(const std::uint64_t expected,
             tensor_bytes(gantry::shape_of(tensor->view), tensor->view.dtype));
  if (bytes != expected) {
    return invalid(tensor_text(tensor->view), " as ", numbers_text(made->extents),
                   ", which has another size")
        .with_reason("REGISTER");
  }
  made->view = tensor->view;
  made->view.ndim = static_cast<std::int32_t>(made->extents.size());
  made->view.shape = made->extents.data();
  made->storage = tensor->storage;
  made->owner = tensor->owner;
  made->is_constant = tensor->is_constant;
  made->host_data = tensor->host_data;
  registers[at.dst] = std::move(made);
  return {};
}

Status Machine::copy_to_device(const Instruction& at, AnyRef* registers) {
  GANTRY_TRY(const TensorObject* const tensor, tensor_in(registers, at.a));
  if (!same_device(tensor->view.device, devices_[at.b])) {
    return invalid("tensor is on ", device_text(tensor->view.device), ", expected ",
                   device_text(devices_[at.b]))
        .with_reason("REGISTER");
  }
  GANTRY_TRY(auto copy,
             new_tensor(devices_[at.c], tensor->view.dtype, gantry::shape_of(tensor->view),
                        code_->program.devices[at.c].scope));
  GANTRY_CHECK(host_.tensor_copy(tensor->view, copy->view, &env_));
  registers[at.dst] = std::move(copy);
  return {};
}

}  // namespace gantry::relay
