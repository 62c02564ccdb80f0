// SPDX-License-Identifier: Apache-2.0
//
// The tensors of one executor: the arguments of the model's function, in its order.
//
//     inputs | outputs | pool of constants, workspaces          the last two only if there are workspaces
//
// The address of a cell never changes: binding an input or output to other memory rewrites it, so
// that arguments are built once.
#pragma once

#include "core/formats/aot_metadata.hpp"
#include "payload.hpp"

#include <gantry/handle.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry::aot {

class Memory {
 public:
  // metadata [in]   must outlive the result, as do its views
  Memory(Host host, const AotMetadata& metadata) : host_(host), metadata_(metadata) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Allocates all tensors and fills the pool of constants. Parameters that are inputs are bound in
  // place if they are aligned, else copied; other parameters are skipped.
  //
  // returns  EXHAUSTED  with the tensor for which there is no memory
  //          MALFORMED  a parameter has another dtype or shape than its input
  Status create(const Payload& payload, bool with_parameters, const gantry_env* env);

  std::size_t input_count() const { return metadata_.inputs.size(); }
  // Index of the argument of an output.
  std::size_t output(std::size_t index) const { return input_count() + index; }

  // By argument.
  const Value& tensor(std::size_t argument) const { return slots_[argument].tensor; }
  gantry_tensor& cell(std::size_t argument) { return cells_[argument]; }
  std::span<const gantry_value> arguments() const { return arguments_; }
  // True if an input's value came with the factory.
  bool is_parameter(std::size_t input) const { return slots_[input].is_parameter; }

  // Copies to an input. Borrowed memory is replaced by memory of the executor first. After a failure
  // the input is unchanged.
  Status copy_in(std::size_t input, const gantry_tensor& from, const gantry_env* env);

  // Uses other memory for an input or output from now on.
  //
  // keeper   [in]   keeps the memory, retained; NULL: the caller keeps it, until another binding or
  //                 the end of the executor
  // returns  INVALID  see check_zero_copy()
  Status bind(std::size_t argument, const gantry_tensor& what, gantry_object* keeper);

 private:
  struct Slot {
    Value tensor;
    // Owned by the payload or a caller.
    bool is_borrowed = false;
    bool is_parameter = false;
  };

  // Appends an argument.
  Status add(std::string_view what, std::string_view name, gantry_dtype dtype,
             std::span<const std::int64_t> shape);
  Status add_pools(const gantry_env* env);
  Status copy_constants(gantry_tensor& pool, const gantry_env* env);
  Status set_parameter(std::size_t input, const Parameter& parameter, const Payload& payload,
                       const gantry_env* env);
  // Points a cell to the memory of a tensor with the same dtype and shape.
  Status use(std::size_t argument, const gantry_tensor& what, gantry_object* keeper,
             bool is_borrowed);
  Result<Value> allocate(std::string_view what, std::string_view name, std::uint64_t bytes) const;

  Host host_;
  const AotMetadata& metadata_;
  std::vector<Slot> slots_;
  // Reserved before the first one is added.
  std::vector<gantry_tensor> cells_;
  std::vector<gantry_value> arguments_;
  // Shapes of pools, which are vectors of bytes.
  std::vector<std::int64_t> pool_bytes_;
};

}  // namespace gantry::aot
