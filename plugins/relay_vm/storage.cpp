// SPDX-License-Identifier: Apache-2.0
#include "storage.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/opaque.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace gantry::relay {
namespace {

// Of one list: all are searched. A block beyond it belongs to its result alone.
constexpr std::size_t max_outside = 16;
// Blocks of one run that are remembered.
constexpr std::size_t max_remembered = 4096;

// The memory of a block. Results may outlive the pool.
struct BlockMemory {
  static constexpr const char* type_name = "relay.BlockMemory";
  StorageMemory::Block block;
};

std::uint32_t references(const Value& value) {
  const std::uint64_t counts = __atomic_load_n(&value.object()->counts, __ATOMIC_ACQUIRE);
  return static_cast<std::uint32_t>(counts);
}

std::vector<Block*>& list_of_state(BlockList& list, Block::State state) {
  return state == Block::State::free      ? list.free
         : state == Block::State::outside ? list.outside
                                          : list.empty;
}

// Puts a block that is in no list into that of a state.
void put(Block& block, Block::State state) noexcept {
  std::vector<Block*>& to = list_of_state(*block.list, state);
  block.state = state;
  block.at = to.size();
  to.push_back(&block);
}

// Takes a block out of the list of its state. The order of the others does not matter.
Block* take_out(Block& block) noexcept {
  std::vector<Block*>& from = list_of_state(*block.list, block.state);
  from[block.at] = from.back();
  from[block.at]->at = block.at;
  from.pop_back();
  block.state = Block::State::used;
  return &block;
}

// Precondition: no list has the block.
void drop(Block& block) noexcept {
  block.exported = Value();
  block.memory = Value();
  put(block, Block::State::empty);
}

bool is_available(const Block& block) {
  return block.state == Block::State::free ||
         (block.state == Block::State::outside && !block.is_in_use_outside());
}

}  // namespace

// The view keeps the memory.
bool Block::is_in_use_outside() const {
  const bool has_view = exported.object() != nullptr;
  return (has_view && references(exported) > 1) || references(memory) > (has_view ? 2u : 1u);
}

std::strong_ordering BlockKind::operator<=>(const BlockKind& other) const {
  const auto numbers = [](const BlockKind& kind) {
    return std::tuple(kind.size, kind.device.type, kind.device.index,
                      reinterpret_cast<std::uintptr_t>(kind.stream), kind.dtype.code,
                      kind.dtype.bits, kind.dtype.lanes, kind.scope);
  };
  if (const auto order = numbers(*this) <=> numbers(other); order != 0) return order;
  return std::lexicographical_compare_three_way(shape.begin(), shape.end(), other.shape.begin(),
                                                other.shape.end());
}

void ReturnToPool::operator()(Block* block) const noexcept { BlockPool::return_block(*block); }

std::shared_ptr<BlockPool> BlockPool::create(Host host, std::shared_ptr<StorageMemory> memory) {
  std::shared_ptr<BlockPool> pool(new BlockPool(host, memory));
  memory->add(pool);
  return pool;
}

void BlockPool::begin_run() noexcept {
  while (is_claimed_.exchange(true, std::memory_order_acquire)) is_claimed_.wait(true);
  taken_count_ = 0;
}

void BlockPool::end_run() noexcept {
  is_claimed_.store(false, std::memory_order_release);
  is_claimed_.notify_one();
}

// Blocks and lists stay: runs remember them.
void BlockPool::free_unused() noexcept {
  for (auto& [key, list] : lists_) {
    while (!list.free.empty()) drop(*take_out(*list.free.back()));
    for (std::size_t i = list.outside.size(); i-- > 0;) {
      if (!list.outside[i]->is_in_use_outside()) drop(*take_out(*list.outside[i]));
    }
  }
}

void BlockPool::free_unused_if_idle() noexcept {
  if (is_claimed_.exchange(true, std::memory_order_acquire)) return;
  free_unused();
  end_run();
}

BlockPool::Lists::value_type& BlockPool::list_of(const BlockKind& kind, const Taken& last) {
  if (last.list != nullptr && last.list->first.kind == kind) return *last.list;
  auto found = lists_.find(kind);
  if (found == lists_.end()) {
    found =
        lists_.emplace(std::piecewise_construct, std::tuple<const BlockKind&>(kind), std::tuple())
            .first;
  }
  return *found;
}

Block* BlockPool::reuse(BlockList& list, Block* last) {
  if (last != nullptr && last->list == &list && is_available(*last)) return take_out(*last);
  if (!list.free.empty()) return take_out(*list.free.back());
  const auto unused =
      std::ranges::find_if(list.outside, &is_available, [](Block* b) -> Block& { return *b; });
  return unused != list.outside.end() ? take_out(**unused) : nullptr;
}

Result<Block*> BlockPool::allocate(BlockList& list, const BlockKind& kind) {
  const std::int64_t bytes = static_cast<std::int64_t>(kind.size);
  const gantry_tensor like = kind.scope.empty()
                                 ? compact_tensor(kind.dtype, {&bytes, 1}, kind.device)
                                 : compact_tensor(kind.dtype, kind.shape, kind.device);
  auto memory = std::make_unique<BlockMemory>();
  GANTRY_TRY(memory->block, memory_->allocate(host_, {like, kind.size}, kind.scope, *this));
  const gantry_tensor tensor = *memory->block.tensor();
  GANTRY_TRY(const gantry_device device, host_.device(kind.device));
  Demands demands;
  if (kind.scope.empty()) {
    GANTRY_TRY(demands, demands_of(kind.device));
  }
  GANTRY_TRY(Value object, new_opaque(host_, std::move(memory)));
  if (list.empty.empty()) {
    const std::size_t count = list.all.size() + 1;
    for (auto* const blocks : {&list.free, &list.outside, &list.empty}) {
      if (blocks->capacity() < count) blocks->reserve(2 * count);
    }
    list.all.push_back(std::make_unique<Block>());
    list.all.back()->list = &list;
    put(*list.all.back(), Block::State::empty);
  }
  Block* const block = take_out(*list.empty.back());
  block->memory = std::move(object);
  block->tensor = tensor;
  block->size = kind.size;
  block->is_opaque = (device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0;
  block->demands = demands;
  return block;
}

Result<TakenBlock> BlockPool::take(const BlockKind& kind) {
  const bool is_remembered = taken_count_ < max_remembered;
  if (is_remembered && taken_count_ == taken_.size()) taken_.emplace_back();
  Taken last = is_remembered ? taken_[taken_count_] : Taken();
  last.list = &list_of(kind, last);
  last.block = reuse(last.list->second, last.block);
  if (last.block == nullptr) {
    GANTRY_TRY(last.block, allocate(last.list->second, kind));
  }
  if (is_remembered) taken_[taken_count_++] = last;
  return TakenBlock(last.block);
}

Result<TakenBlock> BlockPool::take(gantry_device_id device, std::uint64_t bytes, void* stream) {
  if (bytes > std::uint64_t{INT64_MAX} - step) {
    return invalid("storage has ", ByteCount(bytes), ", limit is ",
                   ByteCount(std::uint64_t{INT64_MAX} - step))
        .with_reason("STORAGE");
  }
  BlockKind kind;
  kind.device = device;
  kind.dtype = dtypes::uint8;
  kind.size = bytes == 0 ? step : (bytes + step - 1) / step * step;
  kind.stream = stream;
  return take(kind);
}

Result<TakenBlock> BlockPool::take_scoped(gantry_device_id device, std::string_view scope,
                                          std::span<const std::int64_t> shape, gantry_dtype dtype,
                                          void* stream) {
  GANTRY_TRY(const std::uint64_t size, tensor_bytes(shape, dtype));
  return take({device, dtype, size, stream, scope, shape});
}

void BlockPool::return_block(Block& block) noexcept {
  if (!block.is_in_use_outside()) return put(block, Block::State::free);
  if (block.list->outside.size() < max_outside) return put(block, Block::State::outside);
  drop(block);
}

}  // namespace gantry::relay
