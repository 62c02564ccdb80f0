// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory for compiled host code: blocks that a thread takes and gives back like a stack,
// kept for the next call. What TVMBackendAllocWorkspace stands for.
//
//     Workspaces (runtime) ── WorkspaceShare (one for each thread) ── DevicePool (one for each
//     device and stream)
//
// A thread works on its own share without a lock. Memory goes when the thread ends, or when close()
// is called.
//
// Compiled code returns at once where something fails, and leaves what it has taken: a block knows
// how deep in calls it was taken, and a call that fails gives back what it and those beneath it
// have left. What a call that succeeds leaves, it keeps.
#pragma once

#include "core/tensor/device_set.hpp"

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

// Those who have shares in a runtime's workspaces, so that either end can free them.
struct WorkspaceRegistry {
  std::mutex mutex;
  // no memory is given any more
  std::atomic<bool> closed{false};
  // guarded by mutex; borrowed, each takes itself out
  std::vector<WorkspaceShare*> shares;
};

// Blocks of one thread on one device, in one of its streams: what is given back may be in use by
// work that is still to run there, and the next who gets it comes behind that. In another stream
// nobody would.
//
// source   spec: executors 3.4 (apache/tvm src/runtime/workspace_pool.cc)
class DevicePool {
 public:
  DevicePool(std::shared_ptr<const Device> device, std::int32_t index, void* stream)
      : device_(std::move(device)), index_(index), stream_(stream) {}
  // Frees every block, also those in use.
  ~DevicePool();
  DevicePool(DevicePool&& other) noexcept = default;
  DevicePool& operator=(DevicePool&& other) noexcept;

  bool is_of(gantry_device_id id) const { return device_->type == id.type && index_ == id.index; }
  bool serves(gantry_device_id id, void* stream) const { return stream_ == stream && is_of(id); }
  bool is_idle() const { return used_.empty(); }

  // The smallest spare block that is large enough. Else a new one, and the largest spare one goes
  // for it: the number of blocks does not grow while one is spare.
  //
  // depth    [in]   of the call that takes it, see Workspaces::end_call()
  Result<void*> alloc(std::uint64_t bytes, std::uint32_t depth);
  // returns  the depth that the block was taken at; nothing: no such block is in use
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
  // youngest last
  std::vector<Block> used_;
  // smallest first
  std::vector<Block> spare_;
};

// What one thread has in one runtime.
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
  // few: the CPU, and sometimes one device in one stream
  std::vector<DevicePool> pools_;
};

class Workspaces {
 public:
  // devices  borrowed, outlives this
  explicit Workspaces(const DeviceSet& devices);
  // As close().
  ~Workspaces();
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  // Memory of at least `bytes`, at least kTensorAlignment aligned, content undefined; freed on the
  // same thread.
  //
  // stream   [in]   of the device, in which what uses the memory runs
  // returns  not_found    no such device
  //          exhausted    no memory
  //          unavailable  RUNTIME_ENDS: closed
  // thread   any; no lock but at a thread's first call
  // costs    tens of nanoseconds where a spare block fits
  Result<void*> alloc(gantry_device_id device, std::uint64_t bytes, void* stream = nullptr);

  // Gives a block back, best in reverse order, in whatever stream it was taken.
  //
  // returns  invalid where this thread has no such block in use
  Status free(gantry_device_id device, void* data);

  // A call of host code on this thread has ended: what it took and did not give back is free again
  // where it failed, else it counts as taken by the one around it.
  //
  // depth    [in]   of the call that ends; those within it are deeper
  // outer    [in]   of the one around it; 0: none
  void end_call(std::uint32_t depth, bool failed, std::uint32_t outer) noexcept;

  // Frees what every thread has, and gives nothing from now on. Call it before devices go, so
  // before plugins are destroyed: their memory is freed through their tables.
  //
  // thread   one; host code of this runtime runs on none. Threads that have workspaces may end
  //          meanwhile or later
  void close() noexcept;

 private:
  WorkspaceShare& share();

  const DeviceSet& devices_;
  std::shared_ptr<WorkspaceRegistry> registry_;
};

}  // namespace gantry
