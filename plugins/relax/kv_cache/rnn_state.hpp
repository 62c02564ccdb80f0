// SPDX-License-Identifier: Apache-2.0
//
// The states of a recurrent model, of several sequences, with the values of the last steps, to which a
// sequence can return.
//
//     storage of state i of a layer   [sequences, history, shape of the state]
//     sequence 5                      slot 0, history 2: its value is storage[0, 2]
//
// source   apache/tvm src/runtime/vm/rnn_state.cc
#pragma once

#include <gantry/call.hpp>
#include <gantry/handle.hpp>
#include <gantry/storage_memory.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace gantry::relax {

// Failures of functions are INVALID; those of sequences have reason KV_SEQUENCE.
//
// thread   one at a time
class RnnState {
 public:
  static constexpr const char* type_name = "relax.vm.RNNState";

  // call     [in]   rnn_state_create(layers, sequences, history, gets, sets, values)
  static Result<std::unique_ptr<RnnState>> create(const Host& host, const Call& call,
                                                  std::shared_ptr<StorageMemory> memory);

  void clear();
  Status add(const gantry_env* env, std::int64_t id);
  Status remove(std::int64_t id);
  // Creates a sequence with all values of another one.
  Status fork(const gantry_env* env, std::int64_t parent, std::int64_t child);
  // Returns to the value of `count` steps ago.
  Status pop(std::int64_t id, std::int64_t count);
  // parents  [in]   of the new tokens; must be chains
  Status begin(const gantry_env* env, std::span<const std::int64_t> ids,
               std::span<const std::int64_t> lengths, std::span<const std::int64_t> parents);
  void end();

  // Each calls the kernel of a state for the sequences of begin().
  //
  // data     [in]   tensor for the values, or with the new ones
  Status get(const gantry_env* env, std::int64_t layer, std::int64_t state,
             const gantry_value& data) const;
  Status set(const gantry_env* env, std::int64_t layer, std::int64_t state,
             const gantry_value& data) const;
  // Returns a copy of the value of a sequence.
  Result<Value> value_of(const gantry_env* env, std::int64_t layer, std::int64_t state,
                         std::int64_t id) const;

 private:
  struct Sequence {
    std::int32_t slot = 0;
    std::int32_t history = 0;
    // steps that it can return
    std::int32_t depth = 0;
  };
  struct State {
    Value initial;
    ObjectRef get, set;
    // of one value
    std::uint64_t bytes = 0;
  };

  RnnState(const Host& host, std::shared_ptr<StorageMemory> memory)
      : host_(host), memory_(std::move(memory)) {}

  Result<Sequence*> find(std::int64_t id);
  Result<Sequence> free_slot() const;
  void take_slot();
  Result<const StorageMemory::Block*> storage(std::int64_t layer, std::int64_t state) const;
  Status call(const gantry_env* env, const ObjectRef& function, std::int64_t layer,
              std::int64_t state, const gantry_value& data) const;
  // Copies all values of each state of each layer.
  Status copy_values(const gantry_env* env, std::int32_t from_slot, std::int32_t to_slot) const;

  const Host host_;
  const std::shared_ptr<StorageMemory> memory_;
  gantry_device_id device_{};
  std::int32_t layers_ = 0, slots_ = 0, history_ = 0;
  std::vector<State> states_;
  // layer by layer
  std::vector<StorageMemory::Block> storages_;
  std::map<std::int64_t, Sequence> sequences_;
  // the last one is used next; after those, slots from next_slot_ on
  std::vector<std::int32_t> released_;
  std::int32_t next_slot_ = 0;
  // of the pass: sequences and lengths, and two tables on the device
  std::vector<std::int64_t> ids_, lengths_;
  StorageMemory::Block slot_table_, history_table_;
  std::int64_t batch_ = 0;
  // Nothing has changed since begin().
  bool is_begun_ = false;
};

}  // namespace gantry::relax
