// SPDX-License-Identifier: Apache-2.0
#include "tensor_cache.hpp"

#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/opaque.hpp>
#include <gantry/quoted.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

namespace gantry::relax {
namespace {

// Compiled code loads vectors of this alignment.
constexpr std::uintptr_t in_place_alignment = 64;

// Keeps the memory of tensors that are used in place.
struct ShardOwner {
  static constexpr const char* type_name = "relax.WeightShard";
  MappedShard mapped;
};

// Creates the tensors of one shard.
class ShardReader {
 public:
  ShardReader(const Host& host, const MappedShard& mapped, gantry_object* pin,
              gantry_device_id device, const gantry_env* env)
      : host_(host), mapped_(mapped), pin_(pin), device_(device), env_(env) {}

  Result<Value> tensor(const WeightRecord& record) const {
    const std::span<std::uint8_t> stored = mapped_.bytes_of(record);
    gantry_tensor tensor{stored.data(),
                         {cpu_device_type, 0},
                         static_cast<std::int32_t>(record.shape.size()),
                         record.dtype,
                         const_cast<std::int64_t*>(record.shape.data()),
                         nullptr,
                         0};
    const bool is_cpu = device_.type == cpu_device_type;
    const bool is_aligned =
        reinterpret_cast<std::uintptr_t>(stored.data()) % in_place_alignment == 0;
    if (is_cpu && is_aligned && !record.is_narrowed() && !stored.empty()) {
      tensor.device = device_;
      return host_.tensor_view(tensor, pin_);
    }
    Value widened;
    if (record.is_narrowed() && !is_cpu) {
      GANTRY_TRY(widened, host_.tensor_new(tensor));
      read_elements(record, stored, data_of(widened));
      tensor = *widened.tensor();
    }
    gantry_tensor like = tensor;
    like.device = device_;
    GANTRY_TRY(Value copy, host_.tensor_new(like));
    if (stored.empty()) return copy;
    if (is_cpu) {
      read_elements(record, stored, data_of(copy));
    } else {
      GANTRY_CHECK(host_.tensor_copy(tensor, *copy.tensor(), env_));
    }
    return copy;
  }

 private:
  static void* data_of(const Value& value) {
    return static_cast<std::uint8_t*>(value.tensor()->data) + value.tensor()->byte_offset;
  }

  const Host& host_;
  const MappedShard& mapped_;
  gantry_object* const pin_;
  const gantry_device_id device_;
  const gantry_env* const env_;
};

}  // namespace

Result<TensorCache::Tensors> TensorCache::read(const WeightShard& shard, MappedShard mapped,
                                               gantry_device_id device,
                                               const gantry_env* env) const {
  auto owner = std::make_unique<ShardOwner>(ShardOwner{std::move(mapped)});
  const MappedShard& bytes = owner->mapped;
  GANTRY_TRY(const Value pin, new_opaque(host_, std::move(owner)));
  const ShardReader reader(host_, bytes, pin.object(), device, env);
  Tensors tensors;
  for (std::size_t i = 0; i < shard.records.size(); ++i) {
    if (host_.is_cancelled(env))
      return fail(Code::cancelled, "loading weights is cancelled").with_reason("CANCELLED");
    const WeightRecord& record = shard.records[i];
    auto tensor = reader.tensor(record);
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

std::optional<Value> TensorCache::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return std::nullopt;
  return found->second;
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
