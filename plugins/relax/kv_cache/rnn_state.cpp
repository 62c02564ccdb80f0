// SPDX-License-Identifier: Apache-2.0
#include "rnn_state.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace gantry::relax {
namespace {

// Storages of all layers.
constexpr std::size_t max_storages = 1 << 16;

Result<std::int32_t> count_at(const Call& call, std::size_t i) {
  GANTRY_TRY(const std::int64_t count, call.integer(i));
  if (count >= 1 && count <= std::numeric_limits<std::int32_t>::max())
    return static_cast<std::int32_t>(count);
  return call.refuse(call.title(i), " is ", count, ", expected a positive number of 32 bits")
      .with_reason("ARGUMENT_RANGE");
}

Result<std::span<const gantry_value>> items_at(const Host& host, const Call& call, std::size_t i) {
  GANTRY_TRY(gantry_object* const array, call.object(i, GANTRY_ARRAY));
  return host.items(array);
}

template <class... Parts>
Failure refuse_sequence(const Parts&... parts) {
  return invalid(parts...).with_reason("KV_SEQUENCE");
}

// Part of a storage as bytes.
gantry_tensor bytes_of_storage(const gantry_tensor& storage, std::uint64_t offset,
                               const std::int64_t& count) {
  gantry_tensor part =
      compact_tensor(dtypes::uint8, std::span(&count, 1), storage.device, storage.data);
  part.byte_offset = storage.byte_offset + offset;
  return part;
}

}  // namespace

Result<std::unique_ptr<RnnState>> RnnState::create(const Host& host, const Call& call,
                                                   std::shared_ptr<StorageMemory> memory) {
  GANTRY_CHECK(call.count_is(6));
  std::unique_ptr<RnnState> made(new RnnState(host, std::move(memory)));
  GANTRY_TRY(made->layers_, count_at(call, 0));
  GANTRY_TRY(made->slots_, count_at(call, 1));
  GANTRY_TRY(made->history_, count_at(call, 2));
  GANTRY_TRY(const auto gets, items_at(host, call, 3));
  GANTRY_TRY(const auto sets, items_at(host, call, 4));
  GANTRY_TRY(const auto values, items_at(host, call, 5));
  const std::size_t count = values.size();
  if (count == 0 || gets.size() != count || sets.size() != count ||
      count > max_storages / static_cast<std::size_t>(made->layers_)) {
    return call.refuse("a layer has ", gets.size(), " and ", sets.size(), " functions and ", count,
                       " values, of ", made->layers_, " layers at most ", max_storages,
                       " in all, expected as many of each and 1 at least");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const gantry_tensor* const value = gantry_value_tensor(&values[i]);
    if (value == nullptr || !is_compact(*value)) return call.wrong(5, "compact tensors");
    if (gets[i].kind != GANTRY_FUNCTION) return call.wrong(3, "functions");
    if (sets[i].kind != GANTRY_FUNCTION) return call.wrong(4, "functions");
    State state;
    GANTRY_TRY(state.initial, host.keep(values[i]));
    state.get = ObjectRef::share(gets[i].object);
    state.set = ObjectRef::share(sets[i].object);
    GANTRY_TRY(state.bytes, tensor_bytes(shape_of(*value), value->dtype));
    made->states_.push_back(std::move(state));
  }
  made->device_ = made->states_.front().initial.tensor()->device;
  for (std::int32_t layer = 0; layer < made->layers_; ++layer) {
    for (const State& state : made->states_) {
      const gantry_tensor& value = *state.initial.tensor();
      std::vector<std::int64_t> shape = {made->slots_, made->history_};
      shape.insert(shape.end(), shape_of(value).begin(), shape_of(value).end());
      GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape, value.dtype));
      GANTRY_TRY(StorageMemory::Block block,
                 made->memory_->allocate(
                     host, {compact_tensor(value.dtype, shape, made->device_), bytes}));
      made->storages_.push_back(std::move(block));
    }
  }
  const std::int64_t slots = made->slots_;
  for (StorageMemory::Block* const table : {&made->slot_table_, &made->history_table_}) {
    GANTRY_TRY(*table,
               made->memory_->allocate(
                   host, {compact_tensor(dtypes::int32, std::span(&slots, 1), made->device_),
                          static_cast<std::uint64_t>(slots) * sizeof(std::int32_t)}));
  }
  return made;
}

void RnnState::clear() {
  sequences_.clear();
  released_.clear();
  next_slot_ = 0;
  is_begun_ = false;
}

Result<RnnState::Sequence*> RnnState::find(std::int64_t id) {
  const auto found = sequences_.find(id);
  if (found != sequences_.end()) return &found->second;
  return refuse_sequence("sequence ", id, " does not exist");
}

Result<RnnState::Sequence> RnnState::free_slot() const {
  Sequence sequence;
  if (!released_.empty()) {
    sequence.slot = released_.back();
  } else if (next_slot_ < slots_) {
    sequence.slot = next_slot_;
  } else {
    return refuse_sequence("all ", slots_, " sequences are in use");
  }
  return sequence;
}

void RnnState::take_slot() {
  if (released_.empty())
    ++next_slot_;
  else
    released_.pop_back();
}

Status RnnState::add(const gantry_env* env, std::int64_t id) {
  if (sequences_.contains(id)) return refuse_sequence("sequence ", id, " exists already");
  GANTRY_TRY(const Sequence sequence, free_slot());
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const State& state = states_[i % states_.size()];
    const auto bytes = static_cast<std::int64_t>(state.bytes);
    if (bytes == 0) continue;
    const std::uint64_t offset = state.bytes * static_cast<std::uint64_t>(sequence.slot) *
                                 static_cast<std::uint64_t>(history_);
    GANTRY_CHECK(host_.tensor_copy(bytes_of_storage(*state.initial.tensor(), 0, bytes),
                                   bytes_of_storage(*storages_[i].tensor(), offset, bytes), env));
  }
  sequences_.emplace(id, sequence);
  take_slot();
  is_begun_ = false;
  return {};
}

Status RnnState::remove(std::int64_t id) {
  GANTRY_TRY(const Sequence* const sequence, find(id));
  released_.push_back(sequence->slot);
  sequences_.erase(id);
  is_begun_ = false;
  return {};
}

Status RnnState::copy_values(const gantry_env* env, std::int32_t from_slot,
                             std::int32_t to_slot) const {
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const std::uint64_t bytes =
        states_[i % states_.size()].bytes * static_cast<std::uint64_t>(history_);
    const auto count = static_cast<std::int64_t>(bytes);
    if (count == 0) continue;
    const gantry_tensor& storage = *storages_[i].tensor();
    GANTRY_CHECK(host_.tensor_copy(
        bytes_of_storage(storage, bytes * static_cast<std::uint64_t>(from_slot), count),
        bytes_of_storage(storage, bytes * static_cast<std::uint64_t>(to_slot), count), env));
  }
  return {};
}

Status RnnState::fork(const gantry_env* env, std::int64_t parent, std::int64_t child) {
  GANTRY_TRY(const Sequence* const from, find(parent));
  if (sequences_.contains(child)) return refuse_sequence("sequence ", child, " exists already");
  GANTRY_TRY(const Sequence place, free_slot());
  Sequence copy = *from;
  copy.slot = place.slot;
  GANTRY_CHECK(copy_values(env, from->slot, copy.slot));
  sequences_.emplace(child, copy);
  take_slot();
  is_begun_ = false;
  return {};
}

Status RnnState::pop(std::int64_t id, std::int64_t count) {
  GANTRY_TRY(Sequence* const sequence, find(id));
  if (count < 0 || count > sequence->depth) {
    return refuse_sequence("sequence ", id, " has ", sequence->depth,
                           " earlier values, and is to return ", count, " steps");
  }
  const auto steps = static_cast<std::int32_t>(count);
  sequence->history = (sequence->history - steps + history_) % history_;
  sequence->depth -= steps;
  is_begun_ = false;
  return {};
}

Status RnnState::begin(const gantry_env* env, std::span<const std::int64_t> ids,
                       std::span<const std::int64_t> lengths,
                       std::span<const std::int64_t> parents) {
  if (ids.size() != lengths.size()) {
    return refuse_sequence("a pass has ", ids.size(), " sequences and ", lengths.size(),
                           " lengths");
  }
  std::size_t token = 0;
  std::set<std::int64_t> seen;
  std::vector<std::int32_t> slots, histories;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    GANTRY_TRY(const Sequence* const sequence, find(ids[i]));
    if (!seen.insert(ids[i]).second)
      return refuse_sequence("sequence ", ids[i], " is twice in the pass");
    if (lengths[i] < 0) return refuse_sequence("length ", i, " is ", lengths[i], ", minimum is 0");
    for (std::int64_t k = 0; !parents.empty() && k < lengths[i]; ++k, ++token) {
      if (token >= parents.size() || parents[token] != k - 1) {
        return invalid("parents of the tokens of sequence ", ids[i],
                       " are no chain, which recurrent models require")
            .with_reason("KV_SEQUENCE");
      }
    }
    slots.push_back(sequence->slot);
    histories.push_back(sequence->history);
  }
  if (!parents.empty() && token != parents.size()) {
    return refuse_sequence("a pass has ", parents.size(), " parents and ", token, " tokens");
  }
  const auto batch = static_cast<std::int64_t>(ids.size());
  if (batch != 0) {
    for (const auto& [numbers, table] :
         {std::pair(&slots, &slot_table_), std::pair(&histories, &history_table_)}) {
      const std::int64_t bytes = batch * static_cast<std::int64_t>(sizeof(std::int32_t));
      const gantry_tensor from = compact_tensor(dtypes::uint8, std::span(&bytes, 1),
                                                {cpu_device_type, 0}, numbers->data());
      GANTRY_CHECK(host_.tensor_copy(from, bytes_of_storage(*table->tensor(), 0, bytes), env));
    }
  }
  ids_.assign(ids.begin(), ids.end());
  lengths_.assign(lengths.begin(), lengths.end());
  batch_ = batch;
  is_begun_ = true;
  return {};
}

void RnnState::end() {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const auto found = sequences_.find(ids_[i]);
    // It may have been removed.
    if (found == sequences_.end()) continue;
    Sequence& sequence = found->second;
    sequence.depth = lengths_[i] > 1 ? 0 : std::min(sequence.depth + 1, history_ - 1);
    sequence.history = (sequence.history + 1) % history_;
  }
  ids_.clear();
  lengths_.clear();
  is_begun_ = false;
}

Result<const StorageMemory::Block*> RnnState::storage(std::int64_t layer,
                                                      std::int64_t state) const {
  const auto count = static_cast<std::int64_t>(states_.size());
  if (layer >= 0 && layer < layers_ && state >= 0 && state < count)
    return &storages_[static_cast<std::size_t>(layer * count + state)];
  return invalid("there is no state ", state, " of layer ", layer, ", there are ", layers_,
                 " layers with ", count, " states")
      .with_reason("ARGUMENT_RANGE");
}

Status RnnState::call(const gantry_env* env, const ObjectRef& function, std::int64_t layer,
                      std::int64_t state, const gantry_value& data) const {
  GANTRY_TRY(const StorageMemory::Block* const block, storage(layer, state));
  if (!is_begun_) {
    return invalid("sequences have changed, kv_state_begin_forward begins a pass with them")
        .with_reason("KV_PASS");
  }
  gantry_tensor slots = *slot_table_.tensor(), histories = *history_table_.tensor();
  std::int64_t batch = batch_;
  slots.shape = histories.shape = &batch;
  const gantry_value args[] = {tensor_ref_value(block->tensor()), tensor_ref_value(&slots),
                               tensor_ref_value(&histories), data};
  GANTRY_CHECK(host_.call(function.get(), env, args));
  return {};
}

Status RnnState::get(const gantry_env* env, std::int64_t layer, std::int64_t state,
                     const gantry_value& data) const {
  GANTRY_CHECK(storage(layer, state));
  return call(env, states_[static_cast<std::size_t>(state)].get, layer, state, data);
}

Status RnnState::set(const gantry_env* env, std::int64_t layer, std::int64_t state,
                     const gantry_value& data) const {
  GANTRY_CHECK(storage(layer, state));
  return call(env, states_[static_cast<std::size_t>(state)].set, layer, state, data);
}

Result<Value> RnnState::value_of(const gantry_env* env, std::int64_t layer, std::int64_t state,
                                 std::int64_t id) const {
  GANTRY_TRY(const StorageMemory::Block* const block, storage(layer, state));
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return refuse_sequence("sequence ", id, " does not exist");
  const State& of = states_[static_cast<std::size_t>(state)];
  gantry_tensor like = *of.initial.tensor();
  like.device = device_;
  GANTRY_TRY(Value copy, host_.tensor_new(like));
  const auto bytes = static_cast<std::int64_t>(of.bytes);
  if (bytes == 0) return copy;
  const std::uint64_t number =
      static_cast<std::uint64_t>(found->second.slot) * static_cast<std::uint64_t>(history_) +
      static_cast<std::uint64_t>(found->second.history);
  GANTRY_CHECK(host_.tensor_copy(bytes_of_storage(*block->tensor(), of.bytes * number, bytes),
                                 bytes_of_storage(*copy.tensor(), 0, bytes), env));
  return copy;
}

}  // namespace gantry::relax
