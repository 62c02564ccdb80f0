// SPDX-License-Identifier: Apache-2.0
//
// A virtual machine: runs the functions of an executable on a list of devices.
//
//     registers   those of all active functions, one after another
//     frames      one for each active function; calls take no stack of the thread
//     heap        tensors, storages, tuples and closures of this machine
//     stretches   consecutive calls of kernels, made as a batch if the host has gantry.batch/1
#pragma once

#include "loaded.hpp"
#include "object.hpp"

#include <gantry/batch.h>
#include <gantry/call_streams.hpp>
#include <gantry/handle.hpp>
#include <gantry/storage_memory.hpp>
#include <gantry/trace.hpp>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

namespace gantry::relay {

struct MachineLimits {
  // Functions that call each other.
  std::uint32_t depth = 1 << 16;
  // Of all active functions: 128 MiB.
  std::uint32_t registers = 1 << 24;
  // Jumps and calls of one run, for tests: programs may be endless.
  std::uint64_t transfers = UINT64_MAX;
};

// One thread at a time.
class Machine {
 public:
  Machine(Host host, std::shared_ptr<const Loaded> code, MachineLimits limits = {})
      : host_(host),
        code_(std::move(code)),
        limits_(limits),
        blocks_(BlockPool::create(host, code_->memory)),
        object_memory_(host, code_->memory, "objects of a virtual machine", max_object_bytes),
        frame_memory_(host, code_->memory, "registers of a virtual machine", max_frame_bytes),
        registers_(&frame_memory_),
        frames_(&frame_memory_),
        arguments_(&frame_memory_) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  bool is_initialized() const { return !devices_.empty(); }
  // Finds a device for each virtual one, resolves the packed functions and places the constants.
  //
  // devices  [in]   the first one of a type is used; the CPU need not be among them
  // returns  INVALID    no device of a type (DEVICE); a function runs (VM_STATE)
  //          NOT_FOUND  lists all functions that no import has (FUNCTIONS_MISSING)
  //          the machine is unchanged after a failure
  Status initialize(std::span<const gantry_device_id> devices, const gantry_env* env);

  // Runs a function. Precondition: is_initialized().
  //
  // args     [in]   dense tensors, and arrays of them; borrowed. Tensors of other devices are copied,
  //                 as are those that are not aligned
  // returns  a tensor, or an array for a tuple. INVALID for a wrong number of arguments; the
  //          failures of kernels, with the instruction
  Result<Value> run(std::uint32_t function, const gantry_env* env,
                    std::span<const gantry_value> args);

  // The device of a parameter. Precondition: is_initialized().
  gantry_device_id device_of(std::uint32_t function, std::size_t param) const {
    return devices_[code_->program.functions[function].param_devices[param]];
  }
  const Loaded& code() const { return *code_; }

 private:
  struct Frame {
    std::uint32_t function;
    // Index of its first register.
    std::uint32_t base;
    // Of the caller: the instruction to continue with, and the register of the result.
    std::uint32_t next;
    std::uint32_t dst;
  };
  class Running;
  // Calls first .. end - 1, of instructions that are only entered at the first one. Their arguments
  // are in cells, which a run fills from registers.
  struct Stretch {
    std::uint32_t first, end;
    std::vector<gantry_tensor> cells;
    std::vector<gantry_value> arguments;
    // Made by the first run. It is for this device.
    ObjectRef batch;
    gantry_device_id device{};
  };

  Status check_idle() const;
  Status check_arguments(std::uint32_t function, std::size_t count) const;
  // Each calls a function whose arguments are `count` registers after `first`.
  Status push_frame(std::uint32_t function, std::uint32_t next, std::uint32_t dst);
  // Makes room for one more frame with `count` registers.
  Status grow_frames(std::uint32_t count);
  void pop_frame();
  void leave_all_frames();
  // Runs until the first frame returns.
  //
  // at       [in, out] the first instruction; the one that failed
  Status run_instructions(const Instruction*& at, AnyRef& result);
  Failure with_location(Failure failure, const Instruction& at) const;
  // Adds which inputs of the run a failed call of a kernel has. If its text is that of a check of one
  // of them, the error becomes: input "x" of function "main" is float32[64], expected 2 dimensions.
  Failure with_inputs(Failure failure, const Instruction& at) const;
  // Counts a jump or a call, and ends the run of a task that is cancelled.
  Status transfer();

  Status invoke(const Instruction& at, const AnyRef* caller);
  Status invoke_closure(const Instruction& at, const AnyRef* caller);
  Status invoke_packed(const Instruction& at, const AnyRef* registers);
  Status append_fields(const AnyRef* registers, std::uint32_t reg);
  void find_stretches();
  Status prepare(Stretch& stretch, gantry_device_id device);
  // Returns false if a cell cannot have what a call requires: a tuple, an output without elements,
  // an output on another device.
  bool fill_cells(Stretch& stretch, const AnyRef* registers, gantry_device_id& device) const;
  // Makes the calls that begin with an instruction as a batch.
  //
  // at       [in, out] the first call; the one after the last, or the one that failed
  // returns  false if the calls must be made singly
  Result<bool> run_stretch(const Instruction*& at, const AnyRef* registers);
  Status alloc_storage(const Instruction& at, AnyRef* registers);
  Status alloc_tensor(const Instruction& at, AnyRef* registers);
  Status alloc_tensor_reg(const Instruction& at, AnyRef* registers);
  Status alloc_tuple(const Instruction& at, ObjectKind kind, std::int64_t tag, AnyRef* registers);
  Status get_field(const Instruction& at, AnyRef* registers);
  Status shape_of(const Instruction& at, AnyRef* registers);
  Status reshape(const Instruction& at, AnyRef* registers);
  Status copy_to_device(const Instruction& at, AnyRef* registers);

  // Of a register of the function that runs, for errors.
  std::uint32_t number_in_file(std::uint32_t reg) const {
    return code_->program.number_in_file(code_->program.functions[frames_.back().function], reg);
  }
  // Each returns the content of a register.
  //
  // returns  INVALID  it has another kind, or none (REGISTER)
  Result<TensorObject*> tensor_in(const AnyRef* registers, std::uint32_t reg) const;
  Result<TupleObject*> tuple_in(const AnyRef* registers, std::uint32_t reg, ObjectKind kind) const;
  Result<std::int64_t> integer_in(const AnyRef* registers, std::uint32_t reg);
  // extents  [out]  those that the elements of a tensor state
  Status read_extents(TensorObject& from, std::pmr::vector<std::int64_t>& extents);
  // Returns the elements in host memory.
  //
  // copy     [out]  keeps them, if they are copied
  Result<const std::uint8_t*> host_data(TensorObject& tensor, Ref<TensorObject>& copy);

  // A tensor of the machine's own, on a device.
  Result<Ref<TensorObject>> new_tensor(gantry_device_id device, gantry_dtype dtype,
                                       std::span<const std::int64_t> extents,
                                       std::string_view scope = {});
  Result<Ref<TensorObject>> new_number(std::int64_t number, gantry_dtype dtype);
  // Lays a tensor of `extents` into a storage.
  Status place(TensorObject& tensor, Ref<StorageObject> storage, std::int64_t offset,
               gantry_dtype dtype);

  // depth    [in]   of the nesting
  Result<AnyRef> import_value(const gantry_value& value, gantry_device_id device,
                              std::uint32_t depth);
  Result<bool> fits_in_place(const gantry_tensor& tensor, gantry_device_id device);
  Result<AnyRef> import_tensor(const gantry_value& value, const gantry_tensor& tensor,
                               gantry_device_id device);
  Result<Value> export_value(Object* object, std::uint32_t depth);
  Result<Value> export_tensor(TensorObject& tensor);
  // Exports a copy, the same one for each place that a tensor has in a result.
  Result<Value> export_copy(TensorObject& tensor);
  void drop_copies();

  void* stream_of(gantry_device_id device) const;
  gantry_device_id host_device() const { return devices_[code_->program.host_device]; }

  const Host host_;
  const std::shared_ptr<const Loaded> code_;
  const MachineLimits limits_;
  // by virtual device
  std::vector<gantry_device_id> devices_;
  std::vector<ObjectRef> packed_;

  const std::shared_ptr<BlockPool> blocks_;
  // Of tensors, storages, tuples and closures, without the memory of storages.
  static constexpr std::uint64_t max_object_bytes = std::uint64_t{1} << 28;
  HostMemory object_memory_;
  Heap heap_{&object_memory_};
  // by constant; none for those that no code loads
  std::vector<AnyRef> constants_;
  // Of registers, frames and arguments, also while they grow.
  static constexpr std::uint64_t max_frame_bytes = std::uint64_t{1} << 28;
  HostMemory frame_memory_;
  std::pmr::vector<AnyRef> registers_;
  std::pmr::vector<Frame> frames_;
  // of the active frames
  std::uint32_t registers_used_ = 0;
  // Of the call that is made. The list has room for max_arguments_, those of any invoke_packed.
  std::pmr::vector<gantry_value> arguments_;
  std::size_t argument_count_ = 0;
  std::uint32_t max_arguments_ = 0;
  // of the last call: the device of its output
  gantry_env kernel_env_{};
  gantry_status* status_to_write_ = nullptr;
  // NULL if the host does not have them
  const gantry_batch* batches_ = nullptr;
  const Trace trace_{host_};
  std::vector<Stretch> stretches_;
  // By instruction: index of the stretch that begins with it, plus 1; 0: none.
  std::vector<std::uint32_t> stretch_at_;
  // of the current run
  gantry_env env_{};
  CallStreams streams_;
  std::uint64_t transfers_ = 0;
  std::uint32_t exported_ = 0;
  // Tensors with a copy.
  std::vector<Ref<TensorObject>> copied_;
  StatusBuffer status_;
};

}  // namespace gantry::relay
