// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a runtime by name, which the functions vm.builtin.tensor_cache.* and
// vm.builtin.param_array_from_cache* fill and read. TVM has one cache for each process.
#pragma once

#include "core/format/weight_directory.hpp"

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

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

  std::optional<Value> find(std::string_view name) const;
  // returns  false  there is a tensor of that name, which is kept
  bool add(std::string_view name, Value tensor);
  void replace(std::string_view name, Value tensor);
  void remove(std::string_view name);
  void clear();

  // Returns the number of tensors and some names, for errors: `2 tensors: "a", "b"`.
  std::string contents() const;

 private:
  using Tensors = std::map<std::string, Value, std::less<>>;

  Result<Tensors> read(const WeightShard& shard, MappedShard mapped, gantry_device_id device,
                       const gantry_env* env) const;
  void merge(Tensors tensors) noexcept;

  const Host host_;
  mutable std::mutex mutex_;
  Tensors tensors_;
};

}  // namespace gantry::relax
