// SPDX-License-Identifier: Apache-2.0
//
// The tensors of one executor.
//
//     entry 3  ->  tensor object   returned by get_output; keeps its memory
//              ->  cell            an argument of operators; its address never changes
//
// Binding an entry to other memory makes new tensor objects and rewrites the cells of the entry and
// its reshapes, so that arguments are built once.
#pragma once

#include "payload.hpp"
#include "storage_plan.hpp"

#include <gantry/demands.hpp>
#include <gantry/handle.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

namespace gantry::graph {

// The constants of a module on devices: each is on a device once, as long as an executor uses it.
//
// thread   any
class UploadedConstants {
 public:
  // Returns the memory of a constant on a device.
  //
  // data     [in]   in the file or the library, where code may name one address for two sizes
  // upload   [in]   returns a tensor with its elements as Result<Value>; called if no executor has
  //                 one, which other threads wait for
  template <class Upload>
  Result<std::shared_ptr<const Value>> get(const void* data, std::uint64_t bytes,
                                           gantry_device_id device, const Upload& upload) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<const Value>& known = known_[{data, bytes, device.type, device.index}];
    if (std::shared_ptr<const Value> there = known.lock()) return there;
    GANTRY_TRY(Value made, upload());
    auto uploaded = std::make_shared<const Value>(std::move(made));
    known = uploaded;
    return std::shared_ptr<const Value>(std::move(uploaded));
  }

 private:
  std::mutex mutex_;
  using Key = std::tuple<const void*, std::uint64_t, std::int32_t, std::int32_t>;
  std::map<Key, std::weak_ptr<const Value>> known_;
};

// What an executor is made from.
struct Source {
  Host host;
  // Of the factory, borrowed: its imports have the functions.
  gantry_object* node;
  std::shared_ptr<const Payload> payload;
  bool with_parameters = true;
  // NULL: the executor has constants of its own, which its functions may write
  std::shared_ptr<UploadedConstants> uploaded = nullptr;
};

// Constants that v0.8 linked into the library, where a function returns them by storage id.
class LinkedConstants {
 public:
  // node     [in]   imports the library
  // returns  codes of the look-up; none is there if no import has the function
  static Result<LinkedConstants> find(const Host& host, gantry_object* node);

  // Returns the data of a constant; NULL: there is none.
  Result<const void*> data(const Host& host, std::int64_t storage_id, const gantry_env* env) const;
  // Keeps the constants.
  gantry_object* keeper() const { return lookup_.get(); }
  bool are_there() const { return static_cast<bool>(lookup_); }

 private:
  ObjectRef lookup_;
};

// The owner of an entry's memory.
enum class Owner : std::uint8_t {
  // The executor itself: everything may be written.
  executor,
  // A parameter in place, or another executor's memory: never written by set_input.
  lender,
  // The caller, by set_input_zero_copy: never written by set_input either.
  input,
  // The caller, by set_output_zero_copy: written by operators and by set_input.
  output,
};

struct Binding {
  Owner owner = Owner::executor;
  // Index of the input or output; else 0.
  std::uint32_t key = 0;
  friend bool operator==(const Binding&, const Binding&) = default;
};

// Returns "device 4:0", with DLPack's number of the type.
std::string number_text(gantry_device_id device);

// True if the tensor has the entry's shape.
bool has_shape(const gantry_tensor& tensor, const GraphEntry& entry);

class Memory {
 public:
  explicit Memory(const Source& source)
      : host_(source.host),
        node_(source.node),
        payload_(source.payload),
        uploaded_(source.uploaded) {}

  // Assigns memory to every entry: in place for parameters and linked constants where possible, or
  // that of all executors of the module; slots for the rest. Then copies the other parameters.
  //
  // devices  [in]   in the caller's order; an entry is on the first one of its type
  // returns  INVALID      the graph requires a type of device that is not among them
  //          EXHAUSTED    a device has no memory for a slot
  //          others       of the look-up of linked constants, but for NOT_FOUND
  Status create(const Source& source, std::span<const gantry_device_id> devices,
                const gantry_env* env);

  const Graph& graph() const { return payload_->graph; }
  const Host& host() const { return host_; }
  const Value& tensor(std::uint32_t entry) const { return tensors_[entry]; }
  gantry_tensor& cell(std::uint32_t entry) { return cells_[entry]; }
  // The same with rank 1.
  gantry_tensor& flat_cell(std::uint32_t entry) { return flat_cells_[entry]; }
  Binding binding(std::uint32_t entry) const { return bindings_[plan_.value_of[entry]]; }
  // True if its value is a constant that v0.8 linked into the library.
  bool is_linked(std::uint32_t entry) const { return linked_[plan_.value_of[entry]]; }
  bool holds_input(std::uint32_t entry) const {
    return plan_.values[plan_.value_of[entry]].inputs != 0;
  }

  // Checks that an entry can be bound to this memory: device, dtype, shape, compact strides, and an
  // address that is a multiple of in_place_alignment and of what the device demands.
  //
  // returns  INVALID with what was found and what is expected
  Status check_fits(std::uint32_t entry, const gantry_tensor& what) const;

  // True if the entry is the only input of its value, and no output: other memory may take its place.
  bool is_one_input(std::uint32_t entry) const;
  // The same for entries of one value, and for no other ones.
  const void* value_id(std::uint32_t entry) const { return &plan_.values[plan_.value_of[entry]]; }

  // Points the arguments of operators that are an entry or a reshape of it to other memory, until the
  // next call. Tensor objects and bindings remain.
  //
  // data     [in]   of the entry's device; has the entry's size, and the alignment of check_fits()
  void point(std::uint32_t entry, void* data) {
    if (cells_[entry].data == data) return;
    for (const std::uint32_t e : plan_.values[plan_.value_of[entry]].entries) {
      cells_[e].data = data;
      flat_cells_[e].data = data;
    }
    ++moves_;
  }

  // Binds an entry and its reshapes to other memory.
  //
  // what     [in]   passes check_fits; or CPU memory as large as the entry
  // keeper   [in]   keeps the memory, retained; NULL: the caller keeps it, until another binding or
  //                 the end of the executor
  Status bind(std::uint32_t entry, const gantry_tensor& what, gantry_object* keeper,
              Binding binding);
  // Number of times that an entry was bound to other memory, after which a recorded run is
  // outdated.
  std::uint64_t moves() const { return moves_; }

  // Writes an entry from outside. Borrowed memory is replaced by memory of the executor. After a
  // failure the entry is unchanged.
  Status copy_in(std::uint32_t entry, const gantry_tensor& from, const gantry_env* env);

 private:
  Status resolve_devices(const Source& source, std::span<const gantry_device_id> devices);
  Status bind_linked(const gantry_env* env);
  Status bind_parameters(const gantry_env* env);
  // Binds a value to a constant on its device that the executors of the module share.
  //
  // returns  false  the executor may write the value, or shares nothing
  Result<bool> bind_uploaded(std::uint32_t value, const gantry_tensor& constant,
                             const gantry_env* env);
  Status allocate_slots();
  Status copy_parameters(const gantry_env* env);
  Status bind_value(std::uint32_t value, const gantry_tensor& what, gantry_object* keeper,
                    Binding binding);
  Result<Value> allocate(const Slot& slot, std::uint64_t bytes) const;
  // True if the value is one input that no operator writes.
  bool is_constant(const StoredValue& value) const {
    return value.inputs == 1 && !plan_.slots[value.slot].written;
  }
  bool may_stay_in_place(const StoredValue& value, const void* data) const;

  Host host_;
  gantry_object* node_;
  std::shared_ptr<const Payload> payload_;
  std::shared_ptr<UploadedConstants> uploaded_;
  // Those that this executor uses.
  std::vector<std::shared_ptr<const Value>> shared_;
  // By entry.
  std::vector<gantry_device_id> devices_;
  // Of the devices of entries, each once.
  std::vector<std::pair<gantry_device_id, Demands>> demands_;
  StoragePlan plan_;
  // By entry.
  std::vector<Value> tensors_;
  // By entry; their shapes are the graph's.
  std::vector<gantry_tensor> cells_;
  std::vector<gantry_tensor> flat_cells_;
  std::vector<std::int64_t> flat_extents_;
  // By value.
  std::vector<Binding> bindings_;
  // By value.
  std::vector<bool> linked_;
  std::uint64_t moves_ = 0;
};

}  // namespace gantry::graph
