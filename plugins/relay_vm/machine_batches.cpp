// SPDX-License-Identifier: Apache-2.0
//
// Consecutive calls of kernels, as batches of the host: code of one library is entered once for all.
#include "machine.hpp"

#include <gantry/device_name.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::relay {

void Machine::find_stretches() {
  batches_ = host_.extension<gantry_batch>(GANTRY_BATCH_1);
  trace_ = host_.extension<gantry_trace>(GANTRY_TRACE_1);
  const Program& program = code_->program;
  stretches_.clear();
  stretch_at_.assign(program.instructions.size(), 0);
  if (batches_ == nullptr) return;
  std::vector<bool> is_entered(program.instructions.size(), false);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.opcode == Opcode::jump || instruction.opcode == Opcode::branch)
      is_entered[instruction.c] = true;
    if (instruction.opcode == Opcode::branch) is_entered[instruction.first] = true;
  }
  const auto is_call = [&](std::uint32_t i) {
    return program.instructions[i].opcode == Opcode::invoke_packed;
  };
  for (const FunctionCode& function : program.functions) {
    for (std::uint32_t first = function.begin; first < function.end;) {
      std::uint32_t end = first + 1;
      while (end < function.end && is_call(first) && is_call(end) && !is_entered[end]) ++end;
      if (end - first > 1) {
        stretches_.push_back({first, end, {}, {}, {}, {}});
        stretch_at_[first] = static_cast<std::uint32_t>(stretches_.size());
      }
      first = end;
    }
  }
}

Status Machine::prepare(Stretch& stretch, gantry_device_id device) {
  const Program& program = code_->program;
  const std::span calls(program.instructions.data() + stretch.first, stretch.end - stretch.first);
  stretch.arguments.clear();
  stretch.arguments.reserve(stretch.cells.size());
  for (gantry_tensor& cell : stretch.cells) stretch.arguments.push_back(tensor_ref_value(&cell));
  std::vector<gantry_batch_call> prepared;
  const gantry_value* arguments = stretch.arguments.data();
  for (const Instruction& call : calls) {
    prepared.push_back(
        {packed_[call.a].get(), arguments, static_cast<std::int32_t>(call.count), 0, device});
    arguments += call.count;
  }
  gantry_object* batch = nullptr;
  StatusBuffer status;
  if (const gantry_code code =
          batches_->prepare(host_.table(), prepared.data(), prepared.size(), &batch, status.get()))
    return status.error(code, "prepare of gantry.batch/1");
  stretch.batch = ObjectRef::adopt(batch);
  stretch.device = device;
  return {};
}

bool Machine::fill_cells(Stretch& stretch, const AnyRef* registers,
                         gantry_device_id& device) const {
  const Program& program = code_->program;
  std::size_t filled = 0;
  for (std::uint32_t i = stretch.first; i < stretch.end; ++i) {
    const Instruction& call = program.instructions[i];
    if (call.count == 0) return false;
    for (const std::uint32_t reg : program.registers_of(call)) {
      const Object* const object = registers[reg].get();
      if (object == nullptr || object->kind != ObjectKind::tensor) return false;
      stretch.cells[filled++] = static_cast<const TensorObject*>(object)->view;
    }
    const gantry_tensor& last = stretch.cells[filled - 1];
    if (i == stretch.first) device = last.device;
    const bool is_empty = call.b == 1 && std::ranges::count(gantry::shape_of(last), 0) != 0;
    if (is_empty || !same_device(last.device, device)) return false;
  }
  return true;
}

Result<bool> Machine::run_stretch(const Instruction*& at, const AnyRef* registers) {
  // The host's spans of calls have the names of kernels.
  if (trace_ != nullptr && trace_->span_begin(host_.table()) >= 0) return false;
  const Program& program = code_->program;
  const auto index = static_cast<std::size_t>(at - program.instructions.data());
  Stretch& stretch = stretches_[stretch_at_[index] - 1];
  if (stretch.cells.empty()) {
    std::size_t count = 0;
    for (std::uint32_t i = stretch.first; i < stretch.end; ++i)
      count += program.instructions[i].count;
    stretch.cells.resize(count);
  }
  gantry_device_id device{};
  if (!fill_cells(stretch, registers, device)) return false;
  if (!stretch.batch || !same_device(stretch.device, device))
    GANTRY_CHECK(prepare(stretch, device));
  std::uint64_t failed = GANTRY_NO_CALL;
  const gantry_code code =
      batches_->run(host_.table(), stretch.batch.get(), &env_, &failed, status_to_write_);
  if (code != GANTRY_OK) [[unlikely]] {
    if (failed < stretch.end - stretch.first) at += failed;
    return status_.error(code, code_->program.packed_functions[at->a]);
  }
  at += stretch.end - stretch.first;
  return true;
}

}  // namespace gantry::relay
