// SPDX-License-Identifier: Apache-2.0
//
// gantry/storage_memory.hpp - counts the memory of storages on each device, for all executables of a
// runtime, and limits it.
//
//     const auto memory = std::make_shared<StorageMemory>("acme.vm", limit);
//     memory->add(pool);                                 // a StorageMemory::Pool
//     GANTRY_TRY(StorageMemory::Block block, memory->allocate(host, {tensor, bytes}, scope, *pool));
//     HostMemory tables(host, memory, "tables of acme.vm", max_bytes);
//     std::pmr::vector<Row> rows(&tables);               // counted, too
#pragma once

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/demands.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// thread   any
class StorageMemory : public std::enable_shared_from_this<StorageMemory> {
 public:
  // Blocks of memory, some of which no storage uses.
  class Pool {
   public:
    virtual ~Pool() = default;
    // Frees the blocks that no storage uses.
    //
    // thread   the one that allocates for this pool
    virtual void free_unused() noexcept = 0;
    // Does the same unless another thread uses the pool.
    //
    // thread   any
    virtual void free_unused_if_idle() noexcept = 0;
  };

  // A block of memory, counted while it exists.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept = default;
    Block& operator=(Block&& other) noexcept {
      std::swap(memory_, other.memory_);
      std::swap(tensor_, other.tensor_);
      std::swap(device_, other.device_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Block() {
      if (memory_ == nullptr) return;
      tensor_ = Value();
      memory_->discount(device_, bytes_);
    }

    // NULL: none.
    gantry_tensor* tensor() const { return tensor_.tensor(); }

   private:
    friend class StorageMemory;
    std::shared_ptr<StorageMemory> memory_;
    Value tensor_;
    gantry_device_id device_{};
    std::uint64_t bytes_ = 0;
  };

  struct Request {
    // device, dtype and shape; other members are ignored
    gantry_tensor tensor;
    // of the tensor
    std::uint64_t bytes;
  };

  // plugin   [in]   id, for messages; a literal
  // limit    [in]   bytes on each device; 0: none
  explicit StorageMemory(std::string_view plugin, std::uint64_t limit = 0)
      : plugin_(plugin), limit_(limit) {}

  // Allocates a block. If the limit or the device refuses it, unused blocks are freed and the
  // allocation is repeated: first those of the pool, then those of all pools.
  //
  // returns  EXHAUSTED  the limit is reached (MEMORY_LIMIT); codes of the device's alloc
  Result<Block> allocate(const Host& host, const Request& request, std::string_view scope,
                         Pool& pool) {
    Result<Block> block = try_allocate(host, request, scope);
    if (!is_exhausted(block)) return block;
    pool.free_unused();
    return allocate(host, request, scope);
  }
  // The same for memory that is in no pool.
  Result<Block> allocate(const Host& host, const Request& request, std::string_view scope = {}) {
    Result<Block> block = try_allocate(host, request, scope);
    if (!is_exhausted(block)) return block;
    free_unused();
    return try_allocate(host, request, scope);
  }

  // Returns what a device requires of memory, which is read once.
  Result<Demands> demands_of(const Host& host, gantry_device_id device) {
    if (device.type == cpu_device_type) return Demands();
    const Key key{device.type, device.index};
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = demands_.find(key); known != demands_.end()) return known->second;
    }
    GANTRY_TRY(const Demands demands, gantry::demands_of(host, device));
    const std::lock_guard lock(mutex_);
    return demands_.emplace(key, demands).first->second;
  }

  // Adds a pool, whose unused blocks may be freed for others.
  void add(std::weak_ptr<Pool> pool) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pools_, [](const auto& other) { return other.expired(); });
    pools_.push_back(std::move(pool));
  }

  // Frees the unused blocks of all pools that no other thread uses.
  void free_unused() {
    std::vector<std::shared_ptr<Pool>> pools;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& pool : pools_) {
        if (auto held = pool.lock()) pools.push_back(std::move(held));
      }
    }
    for (const auto& pool : pools) pool->free_unused_if_idle();
  }

  // Bytes on a device, those of unused blocks included.
  std::uint64_t bytes(gantry_device_id device) const {
    const std::lock_guard lock(mutex_);
    const auto found = bytes_.find({device.type, device.index});
    return found != bytes_.end() ? found->second : 0;
  }

 private:
  using Key = std::pair<std::int32_t, std::int32_t>;

  static bool is_exhausted(const Result<Block>& block) {
    return !block.ok() && block.error().code == Code::exhausted;
  }

  Result<Block> try_allocate(const Host& host, const Request& request, std::string_view scope) {
    const gantry_device_id device = request.tensor.device;
    GANTRY_CHECK(count(host, device, request.bytes));
    Block block;
    block.memory_ = shared_from_this();
    block.device_ = device;
    block.bytes_ = request.bytes;
    GANTRY_TRY(block.tensor_, host.tensor_new(request.tensor, scope));
    return block;
  }

  Status count(const Host& host, gantry_device_id device, std::uint64_t bytes) {
    std::uint64_t held = 0;
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t& counted = bytes_[{device.type, device.index}];
      held = counted;
      if (limit_ == 0 || (held <= limit_ && bytes <= limit_ - held)) {
        counted += bytes;
        return {};
      }
    }
    // The host's function is called without the lock.
    return exhausted("storage of ", ByteCount(bytes), " on ", host.device_text(device),
                     ", where executables hold ", ByteCount(held), " and the limit is ",
                     ByteCount(limit_),
                     ": release results and virtual machines, or raise option memory_limit_mib of ",
                     plugin_)
        .with_reason("MEMORY_LIMIT");
  }

  void discount(gantry_device_id device, std::uint64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    bytes_.find({device.type, device.index})->second -= bytes;
  }

  const std::string_view plugin_;
  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::map<Key, std::uint64_t> bytes_;
  std::map<Key, Demands> demands_;
  std::vector<std::weak_ptr<Pool>> pools_;
};

// Memory of the host whose size numbers of a file decide: registers, tables. It is counted as storages on the CPU are, and has a
// limit of its own where they have none.
//
// thread   one at a time
class HostMemory final : public std::pmr::memory_resource {
 public:
  // Not counted: what code needs that no file makes larger.
  static constexpr std::uint64_t uncounted_bytes = 32 << 10;

  // what      [in]   for messages, in the plural; a literal
  // limit     [in]   bytes
  // uncounted [in]   bytes that are not counted; less where a file decides how many of these objects there are
  HostMemory(Host host, std::shared_ptr<StorageMemory> memory, std::string_view what,
             std::uint64_t limit, std::uint64_t uncounted = uncounted_bytes)
      : host_(host),
        memory_(std::move(memory)),
        what_(what),
        limit_(limit),
        uncounted_(uncounted) {}
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

 private:
  // Precedes the bytes of a container.
  struct alignas(64) Header {
    // none if it is not counted
    StorageMemory::Block block;
    std::uint64_t bytes = 0;
  };

  // throws   ErrorThrown     a limit is reached (MEMORY_LIMIT)
  //          std::bad_alloc
  void* do_allocate(std::size_t size, std::size_t) override {
    if (size > limit_ - held_ || size > INT64_MAX - sizeof(Header)) {
      throw ErrorThrown(exhausted(what_, " require ", ByteCount(size), " and hold ",
                                  ByteCount(held_), ", the limit is ", ByteCount(limit_))
                            .with_reason("MEMORY_LIMIT"));
    }
    const std::uint64_t bytes = size + sizeof(Header);
    Header header{{}, size};
    void* data = nullptr;
    if (held_ + size <= uncounted_) {
      data = ::operator new(bytes, std::align_val_t(alignof(Header)));
    } else {
      const std::int64_t shape[] = {static_cast<std::int64_t>(bytes)};
      auto block = memory_->allocate(
          host_, {compact_tensor(dtypes::uint8, shape, {cpu_device_type, 0}), bytes});
      if (!block.ok()) throw ErrorThrown(std::move(block).error());
      header.block = std::move(*block);
      data = header.block.tensor()->data;
    }
    held_ += size;
    return new (data) Header(std::move(header)) + 1;
  }
  void do_deallocate(void* data, std::size_t, std::size_t) override {
    Header* const header = static_cast<Header*>(data) - 1;
    held_ -= header->bytes;
    // It is in the memory that it frees.
    const StorageMemory::Block block = std::move(header->block);
    header->~Header();
    if (block.tensor() == nullptr) ::operator delete(header, std::align_val_t(alignof(Header)));
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  const Host host_;
  const std::shared_ptr<StorageMemory> memory_;
  const std::string_view what_;
  const std::uint64_t limit_;
  const std::uint64_t uncounted_;
  std::uint64_t held_ = 0;
};

// Returns the option memory_limit_mib of a plugin in bytes; 0 if it is not set.
//
// returns  INVALID  it is not an integer, or negative or too large (CONFIG)
inline Result<std::uint64_t> memory_limit_of(const Host& host) {
  constexpr std::int64_t mib = std::int64_t{1} << 20;
  const auto value = host.option("memory_limit_mib");
  if (!value) return std::uint64_t{0};
  if (value->kind != GANTRY_INT || value->i < 0 || value->i > INT64_MAX / mib) {
    return invalid("option memory_limit_mib is not an integer from 0 to ", INT64_MAX / mib)
        .with_reason("CONFIG");
  }
  return static_cast<std::uint64_t>(value->i * mib);
}

}  // namespace gantry
