// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory for compiled CPU code (TVMBackendAllocWorkspace): blocks that a thread allocates
// and frees in the order of a stack; freed blocks are kept for the next call.
//
//     Workspaces (runtime) ── WorkspaceShare (one for each thread) ── DevicePool (one for each
//     device and stream)
//
// A thread uses its own share without a lock. Memory is freed when the thread ends or when close()
// is called.
//
// Compiled code returns immediately after a failure without freeing its blocks. Each block
// therefore records the call depth at which it was allocated, and a call that fails frees the
// blocks that it and the calls within it have left. Blocks that a successful call leaves stay
// allocated.
#pragma once

#include "core/engine/tensor/device_set.hpp"

#include <gantry/result.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gantry {

// Sizes are rounded up to this.
constexpr std::uint64_t kWorkspacePage = 4096;

class WorkspaceShare;

// The shares of all threads in a runtime's workspaces, so that a thread's end and the runtime's end
// can both free them.
struct WorkspaceRegistry {
  std::mutex mutex;
  // True after close(): allocations fail.
  std::atomic<bool> closed{false};
  // guarded by mutex; borrowed, each share removes itself
  std::vector<WorkspaceShare*> shares;
};

// The blocks of one thread on one device in one stream. A freed block may still be in use by work
// that is queued in its stream; it is reused only in the same stream, where the new work runs after
// the old.
//
// source   apache/tvm src/runtime/workspace_pool.cc
class DevicePool {
 public:
  DevicePool(std::shared_ptr<const Device> device, std::int32_t index, void* stream)
      : device_(std::move(device)), index_(index), stream_(stream) {}
  // Frees every block, including those in use; not in stream order, because the stream may have ended.
  ~DevicePool();
  DevicePool(DevicePool&& other) noexcept = default;
  DevicePool& operator=(DevicePool&& other) noexcept;

  bool is_of(gantry_device_id id) const { return device_->type == id.type && index_ == id.index; }
  bool serves(gantry_device_id id, void* stream) const { return stream_ == stream && is_of(id); }
  bool is_idle() const { return used_.empty(); }

  // Returns the smallest spare block that is large enough. If there is none, frees the largest
  // spare block and allocates a new one: the number of blocks does not grow while one is spare.
  //
  // depth    [in]   of the calling CPU code, see Workspaces::end_call()
  Result<void*> alloc(std::uint64_t bytes, std::uint32_t depth);
  // returns  the depth at which the block was allocated; nullopt if no such block is in use
  std::optional<std::uint32_t> free(void* data);
  void end_call(std::uint32_t depth, bool failed, std::uint32_t outer) noexcept;

 private:
  struct Block {
    void* data;
    std::uint64_t bytes;
    std::uint32_t depth;
  };
  Result<void*> alloc_new(std::uint64_t bytes);
  void make_spare(const Block& block) noexcept;

  std::shared_ptr<const Device> device_;
  std::int32_t index_;
  void* stream_;
  // newest last
  std::vector<Block> used_;
  // smallest first
  std::vector<Block> spare_;
};

// The workspaces of one thread in one runtime.
class WorkspaceShare {
 public:
  explicit WorkspaceShare(std::shared_ptr<WorkspaceRegistry> registry);
  ~WorkspaceShare();
  WorkspaceShare(const WorkspaceShare&) = delete;
  WorkspaceShare& operator=(const WorkspaceShare&) = delete;

  const WorkspaceRegistry* registry() const { return registry_.get(); }
  Result<DevicePool*> pool(gantry_device_id id, void* stream, const DeviceSet& devices);
  std::vector<DevicePool>& pools() { return pools_; }

 private:
  std::shared_ptr<WorkspaceRegistry> registry_;
  // usually one for the CPU and at most one for a device
  std::vector<DevicePool> pools_;
};

class Workspaces {
 public:
  // devices  [in]   borrowed, outlives this object
  explicit Workspaces(const DeviceSet& devices);
  // Calls close().
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  // Returns at least `bytes` of memory with at least kTensorAlignment; content undefined. It must
  // be freed on the same thread.
  //
  // stream   [in]   the stream of the device in which the memory is used
  // returns  not_found    no such device
  //          exhausted    no memory
  //          unavailable  RUNTIME_ENDS: close() was called
  // thread   any; takes a lock only at a thread's first call
  // costs    tens of nanoseconds if a spare block fits
  Result<void*> alloc(gantry_device_id device, std::uint64_t bytes, void* stream = nullptr);

  // Frees a block of any stream. Fastest in the reverse order of allocation.
  //
  // returns  invalid if this thread has no such block in use
  Status free(gantry_device_id device, void* data);

  // Ends a call of CPU code on this thread. Blocks that the call has allocated and not freed
  // become spare if it failed, else they belong to the enclosing call.
  //
  // depth    [in]   of the call that ends; calls within it are deeper
  // outer    [in]   depth of the enclosing call; 0: none
  void end_call(std::uint32_t depth, bool failed, std::uint32_t outer) noexcept;

  // Frees the memory of all threads; later allocations fail. Must be called before plugins are
  // destroyed, because memory of their devices is freed through their tables.
  //
  // thread   one, while no thread runs CPU code of this runtime; threads that have workspaces may
  //          end during the call or later
  void close() noexcept;

 private:
  WorkspaceShare& share();

  const DeviceSet& devices_;
  std::shared_ptr<WorkspaceRegistry> registry_;
};

}  // namespace gantry
