// SPDX-License-Identifier: Apache-2.0
#include "storage.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <utility>

namespace gantry::relay {
namespace {

// Of one list: all are searched. A block beyond it belongs to its result alone.
constexpr std::size_t max_outside = 16;
constexpr std::size_t max_searched = 16;

std::uint32_t references(const Value& value) {
  const std::uint64_t counts = __atomic_load_n(&value.object()->counts, __ATOMIC_ACQUIRE);
  return static_cast<std::uint32_t>(counts);
}

}  // namespace

// The view keeps the memory.
bool Block::is_in_use_outside() const {
  const bool has_view = exported.object() != nullptr;
  return (has_view && references(exported) > 1) || references(memory) > (has_view ? 2u : 1u);
}

// Takes a block out of a list. The order of the others does not matter.
std::unique_ptr<Block> BlockPool::take_out(std::vector<std::unique_ptr<Block>>& blocks,
                                           std::size_t i) {
  std::swap(blocks[i], blocks.back());
  auto found = std::move(blocks.back());
  blocks.pop_back();
  return found;
}

// A block that the same user had before comes first: what it allocates next then is what it
// allocated before, and the view of a result exists.
std::unique_ptr<Block> BlockPool::reuse(BlockList& list, std::uint32_t user) {
  std::size_t unused = list.outside.size();
  for (std::size_t i = 0; i < list.outside.size(); ++i) {
    if (list.outside[i]->is_in_use_outside()) continue;
    unused = i;
    if (list.outside[i]->user == user) return take_out(list.outside, i);
  }
  const std::size_t searched = std::min(list.free.size(), max_searched);
  for (std::size_t i = list.free.size() - searched; i < list.free.size(); ++i) {
    if (list.free[i]->user == user) return take_out(list.free, i);
  }
  if (!list.free.empty()) return take_out(list.free, list.free.size() - 1);
  return unused != list.outside.size() ? take_out(list.outside, unused) : nullptr;
}

// The lists stay: blocks that are in use have their addresses.
void BlockPool::free_unused() {
  const auto free_blocks = [](BlockList& list) {
    list.free.clear();
    std::erase_if(list.outside, [](const auto& block) { return !block->is_in_use_outside(); });
  };
  for (auto& [key, list] : plain_) free_blocks(list);
  for (auto& [key, list] : scoped_) free_blocks(list);
}

Result<std::unique_ptr<Block>> BlockPool::reuse_or_allocate(BlockList& list, std::uint32_t user,
                                                            const gantry_tensor& like,
                                                            std::string_view scope,
                                                            std::uint64_t size) {
  if (auto block = reuse(list, user)) {
    block->user = user;
    return block;
  }
  auto block = std::make_unique<Block>();
  block->user = user;
  Result<Value> memory = host_.tensor_new(like, scope);
  if (!memory.ok() && memory.error().code == Code::exhausted) {
    free_unused();
    memory = host_.tensor_new(like, scope);
  }
  GANTRY_TRY(block->memory, std::move(memory));
  block->size = size;
  block->home = &list;
  GANTRY_TRY(const gantry_device device, host_.device(like.device));
  block->is_opaque = (device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0;
  return block;
}

Result<std::unique_ptr<Block>> BlockPool::take(gantry_device_id device, std::uint64_t bytes,
                                               void* stream, std::uint32_t user) {
  if (bytes > std::uint64_t{INT64_MAX} - step) {
    return invalid("storage has ", ByteCount(bytes), ", limit is ",
                   ByteCount(std::uint64_t{INT64_MAX} - step))
        .with_reason("STORAGE");
  }
  const std::uint64_t size = bytes == 0 ? step : (bytes + step - 1) / step * step;
  BlockList& list = plain_[{device.type, device.index, size, stream}];
  const std::int64_t shape[] = {static_cast<std::int64_t>(size)};
  return reuse_or_allocate(list, user, compact_tensor(dtypes::uint8, shape, device), {}, size);
}

Result<std::unique_ptr<Block>> BlockPool::take_scoped(gantry_device_id device,
                                                      std::string_view scope,
                                                      std::span<const std::int64_t> shape,
                                                      gantry_dtype dtype, void* stream,
                                                      std::uint32_t user) {
  GANTRY_TRY(const std::uint64_t size, tensor_bytes(shape, dtype));
  std::string key = concat(device.type, ':', device.index, ' ', scope, ' ', dtype_text(dtype), ' ',
                           Hex{reinterpret_cast<std::uintptr_t>(stream)});
  for (const std::int64_t extent : shape) key += concat(' ', extent);
  BlockList& list = scoped_[key];
  return reuse_or_allocate(list, user, compact_tensor(dtype, shape, device), scope, size);
}

void BlockPool::give_back(std::unique_ptr<Block> block) noexcept {
  if (block == nullptr) return;
  BlockList& list = *block->home;
  const bool is_outside = block->is_in_use_outside();
  if (is_outside && list.outside.size() == max_outside) return;
  try {
    (is_outside ? list.outside : list.free).push_back(std::move(block));
  } catch (...) {
  }
}

}  // namespace gantry::relay
