// SPDX-License-Identifier: Apache-2.0
#include "tensor_cache.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/opaque.hpp>
#include <gantry/quoted.hpp>
#include <gantry/zero_copy.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

namespace gantry::relax {
namespace {

// Weights are used by code of Relax executables.
constexpr std::uint64_t alignment = in_place_alignment_since_v0_10;

constexpr gantry_device_id cpu{cpu_device_type, 0};

// Shares memory with the cache.
struct WeightMemory {
  static constexpr const char* type_name = "relax.WeightMemory";
  std::shared_ptr<const void> owner;
};

// Allocates aligned memory and writes a record's elements to it.
Result<std::shared_ptr<void>> elements_of(const WeightRecord& record,
                                          std::span<const std::uint8_t> stored) {
  const std::size_t bytes = record.is_narrowed() ? 2 * stored.size() : stored.size();
  const std::size_t rounded = (bytes / alignment + 1) * alignment;
  std::shared_ptr<void> memory(std::aligned_alloc(alignment, rounded), std::free);
  if (memory == nullptr)
    return exhausted(ByteCount(bytes), " of memory cannot be allocated").with_reason("MEMORY");
  read_elements(record, stored, memory.get());
  return memory;
}

}  // namespace

Result<Value> TensorCache::object_of(const Weight& weight) const {
  GANTRY_TRY(const Value pin,
             new_opaque(host_, std::make_unique<WeightMemory>(WeightMemory{weight.owner})));
  return host_.tensor_view(compact_tensor(weight.dtype, weight.shape, cpu, weight.data),
                           pin.object());
}

Result<Value> TensorCache::on_device(const WeightRecord& record, std::span<std::uint8_t> stored,
                                     gantry_device_id device, const gantry_env* env) const {
  gantry_tensor tensor = compact_tensor(record.dtype, record.shape, cpu, stored.data());
  std::shared_ptr<void> widened;
  if (record.is_narrowed()) {
    GANTRY_TRY(widened, elements_of(record, stored));
    tensor.data = widened.get();
  }
  return host_.tensor_copied(tensor, device, env);
}

Result<TensorCache::Tensors> TensorCache::read(const WeightShard& shard, MappedShard mapped,
                                               gantry_device_id device,
                                               const gantry_env* env) const {
  const auto owner = std::make_shared<const MappedShard>(std::move(mapped));
  const auto tensor_of = [&](const WeightRecord& record) -> Result<Cached> {
    const std::span<std::uint8_t> stored = owner->bytes_of(record);
    if (device.type != cpu_device_type) {
      GANTRY_TRY(Value tensor, on_device(record, stored, device, env));
      return Cached(std::move(tensor));
    }
    if (!stored.empty() && is_aligned_in_place(stored.data(), alignment) && !record.is_narrowed())
      return Cached(Weight{record.dtype, record.shape, stored.data(), owner});
    GANTRY_TRY(const std::shared_ptr<void> memory, elements_of(record, stored));
    return Cached(Weight{record.dtype, record.shape, memory.get(), memory});
  };
  Tensors tensors;
  for (std::size_t i = 0; i < shard.records.size(); ++i) {
    if (host_.is_cancelled(env))
      return cancelled("loading weights is cancelled").with_reason("CANCELLED");
    const WeightRecord& record = shard.records[i];
    auto tensor = tensor_of(record);
    if (!tensor.ok()) {
      return std::move(tensor).failure().at("in record ", i, " ", quoted(record.name), " of shard ",
                                            quoted(shard.path));
    }
    tensors.insert_or_assign(record.name, std::move(*tensor));
  }
  return tensors;
}

Status TensorCache::load(std::string_view path, gantry_device_id device, const gantry_env* env) {
  // A device that does not exist is refused even if the directory has no tensor.
  GANTRY_CHECK(host_.device(device));
  GANTRY_TRY(const WeightDirectory directory, WeightDirectory::open(std::filesystem::path(path)));
  for (const WeightShard& shard : directory.index.shards) {
    GANTRY_TRY(MappedShard mapped, directory.map(shard));
    GANTRY_TRY(Tensors tensors, read(shard, std::move(mapped), device, env));
    merge(std::move(tensors));
  }
  return {};
}

// Replaced tensors are released after the lock: their deleters are code of others.
void TensorCache::merge(Tensors tensors) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [name, tensor] : tensors) {
    if (const auto known = tensors_.find(name); known != tensors_.end())
      std::swap(known->second, tensor);
  }
  tensors_.merge(tensors);
}

Result<Value> TensorCache::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return Value();
  if (const auto* const weight = std::get_if<Weight>(&found->second)) return object_of(*weight);
  return std::get<Value>(found->second);
}

bool TensorCache::add(std::string_view name, Value tensor) {
  const std::lock_guard lock(mutex_);
  return tensors_.try_emplace(std::string(name), std::move(tensor)).second;
}

void TensorCache::replace(std::string_view name, Value tensor) {
  Tensors one;
  one.emplace(name, std::move(tensor));
  merge(std::move(one));
}

void TensorCache::remove(std::string_view name) {
  Tensors::node_type removed;
  const std::lock_guard lock(mutex_);
  if (const auto found = tensors_.find(name); found != tensors_.end())
    removed = tensors_.extract(found);
}

void TensorCache::clear() {
  Tensors removed;
  const std::lock_guard lock(mutex_);
  removed.swap(tensors_);
}

std::string TensorCache::contents() const {
  constexpr std::size_t max_names = 8;
  const std::lock_guard lock(mutex_);
  const std::string names = join(
      tensors_, ", ", [](const auto& entry) { return quoted(entry.first); }, max_names);
  return concat(tensors_.size(), tensors_.size() == 1 ? " tensor" : " tensors",
                names.empty() ? "" : ": ", names);
}

}  // namespace gantry::relax
