// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/workspace.hpp"

#include "core/engine/native/context.hpp"
#include "core/engine/tensor/cpu_device.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>

#include <algorithm>

namespace gantry {

DevicePool::~DevicePool() {
  for (const auto* blocks : {&used_, &spare_}) {
    for (const Block& block : *blocks) device_free(*device_, index_, block.data, block.bytes);
  }
}

DevicePool& DevicePool::operator=(DevicePool&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(index_, other.index_);
  std::swap(stream_, other.stream_);
  used_.swap(other.used_);
  spare_.swap(other.spare_);
  return *this;
}

Result<void*> DevicePool::alloc_new(std::uint64_t bytes) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = bytes;
  what.alignment = kTensorAlignment;
  // bytes
  what.dtype = {1, 8, 1};
  what.flags = GANTRY_ALLOC_IN_STREAM;
  what.stream = stream_;
  auto data = device_alloc(*device_, index_, what);
  if (!data.ok()) {
    return std::move(data).failure().at("while allocating a workspace of ", ByteCount(bytes),
                                        " on ", device_->name, ":", index_);
  }
  return data;
}

Result<void*> DevicePool::alloc(std::uint64_t bytes, std::uint32_t depth) {
  if (bytes > UINT64_MAX - kWorkspacePage) {
    return exhausted("a workspace of ", ByteCount(bytes), " exceeds the address space");
  }
  const std::uint64_t size =
      bytes == 0 ? kWorkspacePage : (bytes + kWorkspacePage - 1) / kWorkspacePage * kWorkspacePage;
  used_.reserve(used_.size() + 1);
  // so that make_spare() does not allocate
  spare_.reserve(used_.size() + spare_.size() + 1);

  const auto fits =
      std::lower_bound(spare_.begin(), spare_.end(), size,
                       [](const Block& block, std::uint64_t min) { return block.bytes < min; });
  if (fits != spare_.end()) {
    used_.push_back({fits->data, fits->bytes, depth});
    spare_.erase(fits);
    return used_.back().data;
  }
  if (!spare_.empty()) {
    // The caller uses the stream.
    device_free_in_stream(*device_, index_, spare_.back().data, spare_.back().bytes, stream_);
    spare_.pop_back();
  }
  GANTRY_TRY(void* const data, alloc_new(size));
  used_.push_back({data, size, depth});
  return data;
}

void DevicePool::make_spare(const Block& block) noexcept {
  const auto location =
      std::upper_bound(spare_.begin(), spare_.end(), block.bytes,
                       [](std::uint64_t bytes, const Block& other) { return bytes < other.bytes; });
  spare_.insert(location, block);
}

std::optional<std::uint32_t> DevicePool::free(void* data) {
  const auto found = std::find_if(used_.rbegin(), used_.rend(),
                                  [&](const Block& block) { return block.data == data; });
  if (found == used_.rend()) return std::nullopt;
  const Block block = *found;
  used_.erase(std::next(found).base());
  make_spare(block);
  return block.depth;
}

void DevicePool::end_call(std::uint32_t depth, bool failed, std::uint32_t outer) noexcept {
  auto kept = used_.begin();
  for (const Block& block : used_) {
    const bool of_this_call = block.depth >= depth;
    if (of_this_call && failed) {
      make_spare(block);
    } else {
      *kept++ = {block.data, block.bytes, of_this_call ? outer : block.depth};
    }
  }
  used_.erase(kept, used_.end());
}

WorkspaceShare::WorkspaceShare(std::shared_ptr<WorkspaceRegistry> registry)
    : registry_(std::move(registry)) {
  const std::lock_guard lock(registry_->mutex);
  registry_->shares.push_back(this);
}

// Called when the thread ends. The lock is held so that the runtime does not destroy its devices
// concurrently.
WorkspaceShare::~WorkspaceShare() {
  const std::lock_guard lock(registry_->mutex);
  std::erase(registry_->shares, this);
  pools_.clear();
}

// Max pools of one device in a share. The end of a stream is not reported, so an idle pool is
// removed when a new one would exceed this number.
constexpr std::ptrdiff_t kMaxPoolsOfADevice = 8;

Result<DevicePool*> WorkspaceShare::pool(gantry_device_id id, void* stream,
                                         const DeviceSet& devices) {
  for (DevicePool& known : pools_) {
    if (known.serves(id, stream)) return &known;
  }
  if (registry_->closed.load(std::memory_order_acquire)) {
    return unavailable("workspaces cannot be allocated while the runtime shuts down")
        .with_reason("RUNTIME_ENDS");
  }
  GANTRY_TRY(std::shared_ptr<const Device> device, devices.get(id.type));
  if (std::ranges::count_if(pools_, [&](const auto& pool) { return pool.is_of(id); }) >=
      kMaxPoolsOfADevice) {
    const auto idle = std::ranges::find_if(
        pools_, [&](const auto& pool) { return pool.is_of(id) && pool.is_idle(); });
    if (idle != pools_.end()) pools_.erase(idle);
  }
  return &pools_.emplace_back(std::move(device), id.index, stream);
}

Workspaces::Workspaces(const DeviceSet& devices)
    : devices_(devices), registry_(std::make_shared<WorkspaceRegistry>()) {}

Workspaces::~Workspaces() { close(); }

void Workspaces::close() noexcept {
  for (;;) {
    // Declared before the lock, so that the memory is freed after the lock is released: freeing
    // calls code of the device.
    std::vector<DevicePool> pools;
    const std::lock_guard lock(registry_->mutex);
    registry_->closed.store(true, std::memory_order_release);
    if (registry_->shares.empty()) return;
    pools.swap(registry_->shares.back()->pools());
    registry_->shares.pop_back();
  }
}

// A thread has a share in each runtime that it has used. Shares of closed runtimes are removed when
// the thread uses another runtime than before.
WorkspaceShare& Workspaces::share() {
  CpuThread& thread = here();
  if (thread.share != nullptr && thread.share->registry() == registry_.get()) return *thread.share;
  std::erase_if(thread.shares, [](const auto& share) {
    return share->registry()->closed.load(std::memory_order_acquire);
  });
  const auto mine =
      std::find_if(thread.shares.begin(), thread.shares.end(),
                   [&](const auto& share) { return share->registry() == registry_.get(); });
  if (mine != thread.shares.end()) {
    thread.share = mine->get();
  } else {
    thread.share = thread.shares.emplace_back(std::make_unique<WorkspaceShare>(registry_)).get();
  }
  return *thread.share;
}

Result<void*> Workspaces::alloc(gantry_device_id device, std::uint64_t bytes, void* stream) {
  GANTRY_TRY(DevicePool* const pool, share().pool(device, stream, devices_));
  CpuCall& call = *here().call;
  const std::uint32_t depth = call.depth();
  GANTRY_TRY(void* const data, pool->alloc(bytes, depth));
  if (depth != 0) ++call.taken;
  return data;
}

Status Workspaces::free(gantry_device_id device, void* data) {
  for (DevicePool& pool : share().pools()) {
    if (!pool.is_of(device)) continue;
    const auto depth = pool.free(data);
    if (!depth) continue;
    CpuCall& call = *here().call;
    if (*depth == call.depth() && call.taken != 0) --call.taken;
    return {};
  }
  return invalid("the workspace at ", Hex{reinterpret_cast<std::uintptr_t>(data)},
                 " is not in use by this thread");
}

void Workspaces::end_call(std::uint32_t depth, bool failed, std::uint32_t outer) noexcept {
  for (const auto& share : here().shares) {
    if (share->registry() != registry_.get()) continue;
    for (DevicePool& pool : share->pools()) pool.end_call(depth, failed, outer);
  }
}

}  // namespace gantry
