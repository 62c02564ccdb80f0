// SPDX-License-Identifier: Apache-2.0
//
// The tensors of one executor.
//
//     entry 3  ->  tensor object   what get_output gives away: keeps the memory it lies in
//              ->  cell            what operators are called with: an address that never changes
//
// Binding an entry to other memory makes new tensor objects and rewrites the cells, for the entry and its reshapes
// alike, so that arguments need never be built again.
#pragma once

#include "payload.hpp"
#include "storage_plan.hpp"

#include <gantry/handle.hpp>

namespace gantry::graph {

// What an executor is made from.
struct Source {
  Host host;
  // the factory's own: imports hold the functions; borrowed
  gantry_object* node;
  std::shared_ptr<const Payload> payload;
  bool with_parameters = true;
};

// Whose memory an entry lies in.
enum class Owner : std::uint8_t {
  // ours: anything may be written
  executor,
  // a parameter in place, another executor's: never written by set_input
  lender,
  // the caller's, bound by set_input_zero_copy: never written by set_input either
  input,
  // the caller's, bound by set_output_zero_copy: written by operators and by set_input
  output,
};

struct Binding {
  Owner owner = Owner::executor;
  // of an input or an output: which one; else 0
  std::uint32_t key = 0;
  friend bool operator==(const Binding&, const Binding&) = default;
};

class Memory {
 public:
  explicit Memory(const Source& source)
      : host_(source.host), node_(source.node), payload_(source.payload) {}

  // Gives every entry its memory: parameters and linked constants in place where they may be, the rest in slots; then
  // copies the parameters that could not stay in place.
  //
  // devices  [in]   in the caller's order; an entry goes to the first of its type
  // returns  INVALID      the graph wants a type of device that was not given
  //          EXHAUSTED    a device has no memory for a slot
  //          any          what looking for linked constants and asking for one says, but that there are none
  Status create(const Source& source, std::span<const gantry_device_id> devices,
                const gantry_env* env);

  const Graph& graph() const { return payload_->graph; }
  const Host& host() const { return host_; }
  const Value& tensor(std::uint32_t entry) const { return tensors_[entry]; }
  gantry_tensor& cell(std::uint32_t entry) { return cells_[entry]; }
  // The same with rank 1.
  gantry_tensor& flat_cell(std::uint32_t entry) { return flat_cells_[entry]; }
  Binding binding(std::uint32_t entry) const { return bindings_[plan_.value_of[entry]]; }
  // Did its value come out of the library, as v0.8 linked constants?
  bool is_linked(std::uint32_t entry) const { return linked_[plan_.value_of[entry]]; }
  bool holds_input(std::uint32_t entry) const {
    return plan_.values[plan_.value_of[entry]].inputs != 0;
  }

  // Is this memory such that the entry can lie in it? Device, dtype, rank, extents, compact strides, and an address
  // at a multiple of in_place_alignment.
  //
  // returns  INVALID with what was found and what is wanted
  Status check_fits(std::uint32_t entry, const gantry_tensor& what) const;

  // Puts an entry and its reshapes into other memory.
  //
  // what     [in]   passes check_fits; or CPU memory as large as the entry
  // keeper   [in]   keeps the memory, retained; NULL: the caller does, until it is bound anew or the executor goes
  Status bind(std::uint32_t entry, const gantry_tensor& what, gantry_object* keeper,
              Binding binding);
  // How often an entry has come to lie elsewhere: what was recorded of an earlier run knows other addresses.
  std::uint64_t moves() const { return moves_; }

  // Writes an entry from outside. Memory that is only lent is left for new memory of our own; after a failure the entry
  // is what and where it was.
  Status copy_in(std::uint32_t entry, const gantry_tensor& from, const gantry_env* env);

 private:
  Status resolve_devices(const Source& source, std::span<const gantry_device_id> devices);
  Status bind_linked(const gantry_env* env);
  Status bind_parameters();
  Status allocate_slots();
  Status copy_parameters(const gantry_env* env);
  Status bind_value(std::uint32_t value, const gantry_tensor& what, gantry_object* keeper,
                    Binding binding);
  Result<Value> allocate(const Slot& slot, std::uint64_t bytes) const;
  bool may_stay_in_place(const StoredValue& value, const void* data) const;

  Host host_;
  gantry_object* node_;
  std::shared_ptr<const Payload> payload_;
  // by entry
  std::vector<gantry_device_id> devices_;
  StoragePlan plan_;
  // by entry
  std::vector<Value> tensors_;
  // by entry; their shapes are the graph's
  std::vector<gantry_tensor> cells_;
  std::vector<gantry_tensor> flat_cells_;
  std::vector<std::int64_t> flat_extents_;
  // by value
  std::vector<Binding> bindings_;
  // by value
  std::vector<bool> linked_;
  std::uint64_t moves_ = 0;
};

}  // namespace gantry::graph
