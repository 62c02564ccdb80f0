// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/device_set.hpp"

#include "core/base/running_code.hpp"
#include "core/base/text.hpp"
#include "core/engine/tensor/cpu_device.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gantry {
namespace {

std::string names_of(const DeviceSet& devices) {
  return join(devices.all(), ", ",
              [](const auto& device) { return std::string_view(device->name); });
}

}  // namespace

Result<DeviceName> parse_device_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  DeviceName name{text.substr(0, colon), 0};
  if (name.kind.empty()) {
    return invalid("device ", quoted(text), " has no kind, expected a form like \"cpu:0\"");
  }
  if (colon == std::string_view::npos) return name;
  const std::string_view digits = text.substr(colon + 1);
  const auto index = parse_number<std::int32_t>(digits);
  if (!index || digits.front() == '-') {
    return invalid("device ", quoted(text), ": index ", quoted(digits),
                   " is not a number from 0 to 2147483647");
  }
  name.index = *index;
  return name;
}

DeviceSet::DeviceSet() {
  slots_[kCpu] =
      std::make_shared<const Device>(Device{"cpu", kCpu, nullptr, cpu_device_table(), {}});
  present_[kCpu].store(true, std::memory_order_release);
}

std::string described(const Device& device) {
  return device.plugin.empty() ? concat("device ", device.name)
                               : concat("device ", device.name, " (plugin ", device.plugin, ")");
}

KnownDemands::~KnownDemands() {
  for (const Entry* entry = first_.load(); entry != nullptr;)
    delete std::exchange(entry, entry->next);
}

const Demands* KnownDemands::find(std::int32_t index) const {
  for (const Entry* entry = first_.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->next) {
    if (entry->index == index) return &entry->demands;
  }
  return nullptr;
}

// Two threads may add the same demands; the second entry is harmless.
void KnownDemands::add(std::int32_t index, const Demands& demands) {
  auto* const entry = new Entry{index, demands, first_.load(std::memory_order_relaxed)};
  while (!first_.compare_exchange_weak(entry->next, entry, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

Result<Demands> device_demands(const Device& device, std::int32_t index) {
  if (device.type == kCpu) return Demands();
  if (const Demands* const known = device.demands->find(index)) return *known;
  GANTRY_TRY(const Demands demands,
             read_demands({device.self, device.table, {device.type, index}}, described(device)));
  device.demands->add(index, demands);
  return demands;
}

Status LostDevices::check(std::int32_t index) const {
  if (!any_.load(std::memory_order_acquire)) [[likely]]
    return {};
  const std::lock_guard lock(mutex_);
  const auto known = errors_.find(index);
  return known == errors_.end() ? Status() : Status(known->second);
}

Status LostDevices::recorded(std::int32_t index, Status done) {
  if (done.ok() || done.error().code != Code::lost) return done;
  const std::lock_guard lock(mutex_);
  errors_.try_emplace(index, done.error());
  any_.store(true, std::memory_order_release);
  return done;
}

bool may_call(const Device& device) { return device.type == kCpu || plugins_may_run(); }

namespace {

// Adds to the memory in use; on failure nothing is added.
Status take_memory(const Device& device, std::uint64_t bytes) {
  MemoryLimit* const limit = device.limit.get();
  if (limit == nullptr) return {};
  const std::int64_t wanted = static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
  std::int64_t used = limit->used.load(std::memory_order_relaxed);
  do {
    if (wanted <= limit->bytes - used) continue;
    return exhausted(described(device), ": alloc of ", ByteCount(bytes), " with ",
                     ByteCount(static_cast<std::uint64_t>(used)), " in use, limit is ",
                     ByteCount(static_cast<std::uint64_t>(limit->bytes)), " (", limit->source, ")")
        .with_reason("MEMORY_LIMIT");
  } while (!limit->used.compare_exchange_weak(used, used + wanted, std::memory_order_relaxed));
  return {};
}

void return_memory(const Device& device, std::uint64_t bytes) {
  if (device.limit)
    device.limit->used.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

Result<void*> alloc_unlimited(const Device& device, std::int32_t index, const gantry_alloc& what) {
  void* data = nullptr;
  const auto alloc = [&] {
    return call_table(device, index, "alloc", [&](gantry_status* out) {
      return device.table->alloc(device.self, index, &what, &data, out);
    });
  };
  Status done = alloc();
  if (!done.ok() && done.error().code == Code::exhausted && device.table->trim != nullptr) {
    device.table->trim(device.self, index);
    done = alloc();
  }
  if (!done.ok()) return std::move(done).error();
  if (data == nullptr) {
    return bug(described(device), ": alloc of ", ByteCount(what.size), " succeeds but returns NULL")
        .with_reason("DEVICE_ALLOC");
  }
  const bool is_address =
      (device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) == 0 || is_host_scope(what.scope);
  if (is_address && reinterpret_cast<std::uintptr_t>(data) % what.alignment != 0) {
    device.table->free(device.self, index, data);
    return bug(described(device), ": alloc of ", ByteCount(what.size),
               " returns an address that is not a multiple of ", what.alignment)
        .with_reason("DEVICE_ALLOC");
  }
  return data;
}

// Returns the allocation as the device demands it.
Result<gantry_alloc> as_demanded(const Device& device, const Demands& demands,
                                 const gantry_alloc& what) {
  gantry_alloc demanded = what;
  demanded.alignment = std::max(what.alignment, demands.alignment);
  demanded.size = demands.padded(what.size);
  if (demanded.size <= demands.max_allocation) return demanded;
  return exhausted(described(device), ": alloc of ", ByteCount(demanded.size),
                   ", limit of one allocation is ", ByteCount(demands.max_allocation))
      .with_reason("DEVICE_MEMORY");
}

Result<void*> alloc_demanded(const Device& device, std::int32_t index, const gantry_alloc& what) {
  if (is_host_scope(what.scope)) return alloc_unlimited(device, index, what);
  const Result<Demands> demands = device_demands(device, index);
  if (demands.ok()) {
    GANTRY_TRY(const gantry_alloc demanded, as_demanded(device, *demands, what));
    return alloc_unlimited(device, index, demanded);
  }
  // A device that does not exist or does not start is reported by alloc.
  GANTRY_TRY(void* const data, alloc_unlimited(device, index, what));
  device.table->free(device.self, index, data);
  return demands.error();
}

}  // namespace

Result<void*> device_alloc(const Device& device, std::int32_t index, const gantry_alloc& what) {
  if (!may_call(device)) return process_end_error(concat("alloc of ", described(device)));
  const std::uint64_t counted = is_host_scope(what.scope) ? 0 : what.size;
  GANTRY_CHECK(take_memory(device, counted));
  Result<void*> data = alloc_demanded(device, index, what);
  if (!data.ok()) return_memory(device, counted);
  return data;
}

void device_free(const Device& device, std::int32_t index, void* data, std::uint64_t bytes) {
  if (may_call(device)) {
    const CallRecord record("free", device.plugin);
    device.table->free(device.self, index, data);
  }
  return_memory(device, bytes);
}

void device_free_in_stream(const Device& device, std::int32_t index, void* data,
                           std::uint64_t bytes, void* stream) {
  if (device.table->free_in_stream == nullptr) return device_free(device, index, data, bytes);
  if (may_call(device)) device.table->free_in_stream(device.self, index, data, stream);
  return_memory(device, bytes);
}

StagingMemory::Use StagingMemory::use(const Device& device, std::int32_t index,
                                      std::uint64_t bytes) {
  if (device.type == kCpu || bytes < min_bytes) return {};
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return {};
  if (data_ == nullptr && may_allocate_) {
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = kStagingBytes;
    what.alignment = kTensorAlignment;
    what.dtype = {1, 8, 1};
    what.scope = gantry_text(GANTRY_SCOPE_HOST);
    const Result<void*> made = device_alloc(device, index, what);
    if (made.ok()) data_ = *made;
    index_ = index;
    // A later copy tries again only if this may be different then.
    may_allocate_ = !made.ok() && made.error().code == Code::exhausted;
  }
  if (data_ == nullptr) return {};
  return Use(std::move(lock), data_);
}

void StagingMemory::release(const Device& device) {
  const std::lock_guard lock(mutex_);
  may_allocate_ = false;
  if (data_ != nullptr) device_free(device, index_, std::exchange(data_, nullptr), 0);
}

void DeviceSet::limit_memory(const std::string& name, std::int64_t bytes, std::string source) {
  auto limit = std::make_shared<MemoryLimit>();
  limit->bytes = bytes;
  limit->source = std::move(source);
  limits_[name] = limit;
  for (auto& slot : slots_) {
    if (!slot || slot->name != name) continue;
    Device limited = *slot;
    limited.limit = limit;
    slot = std::make_shared<const Device>(std::move(limited));
  }
}

Result<std::int32_t> DeviceSet::reserve(std::string name, const gantry_device_table* table,
                                        std::string plugin) {
  const std::lock_guard lock(mutex_);
  if (name.empty() || name.find(':') != std::string::npos) {
    return invalid("device name ", quoted(name), " is empty or contains a colon");
  }
  for (const auto& slot : slots_) {
    if (!slot || slot->name != name) continue;
    return invalid(
        "device ", name, ": the name is already used by ",
        slot->plugin.empty() ? "the core" : concat("plugin ", slot->plugin),
        "; remove one of the plugins or rename one of the devices",
        name == "ext_dev" ? "; code compiled for ext_dev, 12, also works with another name" : "");
  }
  std::int32_t type = table->type;
  if (type == kExtDev && name != "ext_dev") type = 0;
  if (type < 0 || type >= kFirstAssignedType) {
    return invalid("device ", name, ": number is ", type, ", expected a DLPack number (1 to ",
                   kFirstAssignedType - 1, ") or 0");
  }
  if (const std::int32_t known = dlpack_number(name); known != 0 && type != known) {
    return invalid("device ", name, ": number is ", type, ", DLPack's is ", known);
  }
  // slot 0 is always empty
  if (const auto& slot = slots_[static_cast<std::size_t>(type)]) {
    return invalid("device ", name, ": number ", type, " is already used by device ", slot->name);
  }
  if (type == 0) {
    if (next_assigned_ == kDeviceTypeCount) {
      return exhausted("device ", name, ": all numbers from ", kFirstAssignedType, " to ",
                       kDeviceTypeCount - 1, " are in use");
    }
    type = next_assigned_++;
  }
  const auto limit = limits_.find(name);
  slots_[static_cast<std::size_t>(type)] = std::make_shared<const Device>(
      Device{std::move(name), type, nullptr, table, std::move(plugin),
             limit == limits_.end() ? nullptr : limit->second});
  return type;
}

void DeviceSet::serve(std::int32_t type, void* self) {
  const std::lock_guard lock(mutex_);
  const auto at = static_cast<std::size_t>(type);
  Device served = *slots_[at];
  served.self = self;
  slots_[at] = std::make_shared<const Device>(std::move(served));
  // after this store find() returns the slot
  present_[at].store(true, std::memory_order_release);
}

void DeviceSet::withdraw(std::int32_t type) {
  const std::lock_guard lock(mutex_);
  slots_[static_cast<std::size_t>(type)] = nullptr;
  if (type == next_assigned_ - 1 && type >= kFirstAssignedType) --next_assigned_;
}

void DeviceSet::release_staging(std::int32_t type) {
  if (const auto* device = find(type)) (*device)->staging->release(**device);
}

void DeviceSet::retire(std::int32_t type) {
  present_[static_cast<std::size_t>(type)].store(false, std::memory_order_release);
}

Result<std::int32_t> DeviceSet::add(std::string name, void* self,
                                    const gantry_device_table* table) {
  GANTRY_TRY(const std::int32_t type, reserve(std::move(name), table));
  serve(type, self);
  return type;
}

Result<std::int32_t> DeviceSet::number_of(std::string_view name) const {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& slot : slots_) {
      if (slot && slot->name == name) return slot->type;
    }
  }
  if (const std::int32_t known = dlpack_number(name); known != 0) return known;
  return not_found("device ", quoted(name), " not found; devices: ", names_of(*this));
}

const std::shared_ptr<const Device>* DeviceSet::find(std::int32_t type) const {
  if (type < 0 || type >= kDeviceTypeCount) return nullptr;
  const auto slot = static_cast<std::size_t>(type);
  return present_[slot].load(std::memory_order_acquire) ? &slots_[slot] : nullptr;
}

const std::shared_ptr<const Device>* DeviceSet::find(std::string_view name) const {
  for (std::int32_t type = 0; type < kDeviceTypeCount; ++type) {
    const auto* device = find(type);
    if (device != nullptr && (*device)->name == name) return device;
  }
  return nullptr;
}

Result<std::shared_ptr<const Device>> DeviceSet::get(std::int32_t type) const {
  if (const auto* device = find(type)) return *device;
  const std::string_view known = dlpack_name(type);
  return not_found("device number ", type, known.empty() ? "" : concat(" (", known, ")"),
                   " not found; devices: ", names_of(*this));
}

Result<std::shared_ptr<const Device>> DeviceSet::lend(std::int32_t type) const {
  GANTRY_TRY(std::shared_ptr<const Device> device, get(type));
  const std::shared_ptr<const void> owner = owner_.lock();
  if (owner == nullptr) return device;
  return std::shared_ptr<const Device>(owner, device.get());
}

std::vector<std::shared_ptr<const Device>> DeviceSet::all() const {
  std::vector<std::shared_ptr<const Device>> devices;
  for (std::int32_t type = 0; type < kDeviceTypeCount; ++type) {
    if (const auto* device = find(type)) devices.push_back(*device);
  }
  return devices;
}

}  // namespace gantry
