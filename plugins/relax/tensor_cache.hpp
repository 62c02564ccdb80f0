// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a runtime by name, which the functions vm.builtin.tensor_cache.* and
// vm.builtin.param_array_from_cache* fill and read. TVM has one cache for each process.
//
// Objects of the host keep their runtime alive, and the runtime this cache, so that a tensor in the
// cache would keep both until clear(). Tensors on the CPU are therefore kept as memory, and become
// objects when they are taken. Those of other devices, and those that update() keeps by reference,
// must be cleared before the last handle of the runtime is released.
#pragma once

#include "core/formats/weight_directory.hpp"

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::relax {

// thread   any
class TensorCache {
 public:
  explicit TensorCache(Host host) : host_(host) {}
  TensorCache(const TensorCache&) = delete;
  TensorCache& operator=(const TensorCache&) = delete;

  const Host& host() const { return host_; }

  // Adds the tensors of a directory of weights; replaces those of the same names. On the CPU,
  // tensors are in the mapped shard if their data are aligned there, and otherwise copied.
  //
  // returns  the errors of WeightDirectory and of the device; CANCELLED. Tensors of the shards
  //          before the one that failed are in the cache, of that shard none
  Status load(std::string_view directory, gantry_device_id device, const gantry_env* env);

  // Returns a tensor; none if there is none of that name.
  Result<Value> find(std::string_view name) const;
  // returns  false  there is a tensor of that name, which is kept
  bool add(std::string_view name, Value tensor);
  void replace(std::string_view name, Value tensor);
  void remove(std::string_view name);
  void clear();

  // Returns the number of tensors and some names, for errors: `2 tensors: "a", "b"`.
  std::string contents() const;

 private:
  // A tensor in memory of this process.
  struct Weight {
    gantry_dtype dtype{};
    std::vector<std::int64_t> shape;
    void* data = nullptr;
    // of the data
    std::shared_ptr<const void> owner;
  };
  using Cached = std::variant<Weight, Value>;
  using Tensors = std::map<std::string, Cached, std::less<>>;

  Result<Tensors> read(const WeightShard& shard, MappedShard mapped, gantry_device_id device,
                       const gantry_env* env) const;
  Result<Value> on_device(const WeightRecord& record, std::span<std::uint8_t> stored,
                          gantry_device_id device, const gantry_env* env) const;
  Result<Value> object_of(const Weight& weight) const;
  void merge(Tensors tensors) noexcept;

  const Host host_;
  mutable std::mutex mutex_;
  Tensors tensors_;
};

}  // namespace gantry::relax
