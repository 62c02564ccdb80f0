// SPDX-License-Identifier: Apache-2.0
//
// The memory of one machine's storages. Blocks that no storage uses serve later ones of the same
// size, device, stream and memory scope. A block may leave the machine as the memory of a result;
// it serves again when the result is released.
#pragma once

#include <gantry/demands.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/storage_memory.hpp>

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::relay {

struct BlockList;

// Belongs to a pool.
struct Block {
  enum class State : std::uint8_t {
    // of a storage
    used,
    // no storage has it
    free,
    // no storage has it, callers may
    outside,
    // has no memory
    empty,
  };

  // Keeps the memory and its count; views own it.
  Value memory;
  // Bytes, or the shape of a memory scope.
  gantry_tensor tensor{};
  std::uint64_t size = 0;
  // A view of it that a caller has or had.
  Value exported;
  // The device's data are handles: a part of it is addressed by byte_offset.
  bool is_opaque = false;
  // Of the device, for parts; none for blocks with a memory scope.
  Demands demands;
  State state = State::used;
  BlockList* list = nullptr;
  // Index in the list of its state.
  std::size_t at = 0;

  // True if a reference outside of the machine keeps it in use.
  bool is_in_use_outside() const;
};

// Blocks that serve the same storages.
struct BlockList {
  std::vector<std::unique_ptr<Block>> all;
  // Those of a state; each list has capacity for all blocks.
  std::vector<Block*> free, outside, empty;
};

// A block of a storage; returns to its pool.
struct ReturnToPool {
  void operator()(Block* block) const noexcept;
};
using TakenBlock = std::unique_ptr<Block, ReturnToPool>;

// What a storage requires.
struct BlockKind {
  // Shape and dtype of blocks with a memory scope; of others the shape is empty.
  gantry_device_id device{};
  gantry_dtype dtype{};
  // bytes
  std::uint64_t size = 0;
  // of the work that uses it
  void* stream = nullptr;
  std::string_view scope;
  std::span<const std::int64_t> shape;

  std::strong_ordering operator<=>(const BlockKind& other) const;
  bool operator==(const BlockKind& other) const { return (*this <=> other) == 0; }
};

// thread   one at a time; free_unused_if_idle() any
class BlockPool : public StorageMemory::Pool {
 public:
  static std::shared_ptr<BlockPool> create(Host host, std::shared_ptr<StorageMemory> memory);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // The size of a block is a multiple of this, as in TVM.
  static constexpr std::uint64_t step = 4096;

  // Begins and ends a run, outside of which no block is taken.
  void begin_run() noexcept;
  void end_run() noexcept;

  // Returns a block of at least `bytes` bytes. The nth block of a run is the nth one of the run
  // before if that is unused: what a program allocates next then is what it allocated before, and
  // the view of a result exists.
  //
  // stream   [in]   of the work that uses it
  // returns  INVALID  larger than memory can be (STORAGE); as StorageMemory::allocate()
  Result<TakenBlock> take(gantry_device_id device, std::uint64_t bytes, void* stream);
  // Returns a block with a memory scope, such as "global.texture", which the device lays out by
  // shape.
  Result<TakenBlock> take_scoped(gantry_device_id device, std::string_view scope,
                                 std::span<const std::int64_t> shape, gantry_dtype dtype,
                                 void* stream);

  // Returns what a device requires of memory.
  Result<Demands> demands_of(gantry_device_id device) const {
    return memory_->demands_of(host_, device);
  }

  void free_unused() noexcept override;
  void free_unused_if_idle() noexcept override;

 private:
  friend struct ReturnToPool;
  // Owns the texts and numbers of a kind.
  struct Key {
    explicit Key(const BlockKind& from)
        : scope(from.scope), shape(from.shape.begin(), from.shape.end()), kind(from) {
      kind.scope = scope;
      kind.shape = shape;
    }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;

    std::string scope;
    std::vector<std::int64_t> shape;
    BlockKind kind;
  };
  struct Less {
    using is_transparent = void;
    static const BlockKind& kind_of(const Key& key) { return key.kind; }
    static const BlockKind& kind_of(const BlockKind& kind) { return kind; }
    bool operator()(const auto& a, const auto& b) const { return kind_of(a) < kind_of(b); }
  };
  using Lists = std::map<Key, BlockList, Less>;
  // Of the nth block of a run: where it came from in the last one.
  struct Taken {
    Lists::value_type* list = nullptr;
    Block* block = nullptr;
  };

  BlockPool(Host host, std::shared_ptr<StorageMemory> memory)
      : host_(host), memory_(std::move(memory)) {}
  Lists::value_type& list_of(const BlockKind& kind, const Taken& last);
  static Block* reuse(BlockList& list, Block* last);
  Result<Block*> allocate(BlockList& list, const BlockKind& kind);
  Result<TakenBlock> take(const BlockKind& kind);
  static void return_block(Block& block) noexcept;

  const Host host_;
  const std::shared_ptr<StorageMemory> memory_;
  // True during a run, and while another thread frees unused blocks.
  std::atomic<bool> is_claimed_ = false;
  Lists lists_;
  // Of devices that have blocks, each once.
  std::vector<Taken> taken_;
  // Of the current run.
  std::size_t taken_count_ = 0;
};

}  // namespace gantry::relay
