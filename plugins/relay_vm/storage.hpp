// SPDX-License-Identifier: Apache-2.0
//
// The memory of one machine's storages. Blocks that no storage uses serve later ones of the same
// size, device, stream and memory scope. A block may leave the machine as the memory of a result;
// it serves again when the result is released.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace gantry::relay {

struct BlockList;

struct Block {
  // A tensor of bytes, or of the shape of a memory scope.
  Value memory;
  std::uint64_t size = 0;
  // A view of it that a caller has or had.
  Value exported;
  // The device's data are handles: a part of it is addressed by byte_offset.
  bool is_opaque = false;
  // Who took it last.
  std::uint32_t user = 0;
  // Of its pool.
  BlockList* home = nullptr;

  const gantry_tensor& tensor() const { return *memory.tensor(); }
  // True if a reference outside of the machine keeps it in use.
  bool is_in_use_outside() const;
};

struct BlockList {
  std::vector<std::unique_ptr<Block>> free;
  // No storage has them, callers may.
  std::vector<std::unique_ptr<Block>> outside;
};

// thread   one at a time
class BlockPool {
 public:
  explicit BlockPool(Host host) : host_(host) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // The size of a block is a multiple of this, as in TVM.
  static constexpr std::uint64_t step = 4096;

  // Returns a block of at least `bytes` bytes.
  //
  // stream   [in]   of the work that uses it
  // user     [in]   a number that is the same in each run: a block that it had before is preferred
  // returns  INVALID  larger than memory can be (STORAGE); codes of the device's alloc
  Result<std::unique_ptr<Block>> take(gantry_device_id device, std::uint64_t bytes, void* stream,
                                      std::uint32_t user);
  // Returns a block with a memory scope, such as "global.texture", which the device lays out by
  // shape.
  Result<std::unique_ptr<Block>> take_scoped(gantry_device_id device, std::string_view scope,
                                             std::span<const std::int64_t> shape,
                                             gantry_dtype dtype, void* stream, std::uint32_t user);
  // block    [in]   NULL: nothing happens. Without memory for the list, it is freed
  void give_back(std::unique_ptr<Block> block) noexcept;

 private:
  // device, size and stream; scope, shape and type of blocks with a scope
  using Key = std::tuple<std::int32_t, std::int32_t, std::uint64_t, void*>;

  static std::unique_ptr<Block> take_out(std::vector<std::unique_ptr<Block>>& blocks,
                                         std::size_t i);
  static std::unique_ptr<Block> reuse(BlockList& list, std::uint32_t user);
  void free_unused();
  // Without memory for a block, frees those that nothing uses and tries once more.
  Result<std::unique_ptr<Block>> reuse_or_allocate(BlockList& list, std::uint32_t user,
                                                   const gantry_tensor& like,
                                                   std::string_view scope, std::uint64_t size);

  const Host host_;
  std::map<Key, BlockList> plain_;
  std::map<std::string, BlockList> scoped_;
};

}  // namespace gantry::relay
