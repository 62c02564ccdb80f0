// SPDX-License-Identifier: Apache-2.0
//
// A directory of weights: an index (weight_index.hpp) and the shards that it lists.
//
//     GANTRY_TRY(const WeightDirectory weights, WeightDirectory::open("model.weights"));
//     for (const WeightShard& shard : weights.index.shards) {
//       GANTRY_TRY(const MappedShard mapped, weights.map(shard));
//       for (const WeightRecord& record : shard.records) use(record, mapped.bytes_of(record));
//     }
#pragma once

#include "core/formats/weight_index.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// A shard in memory. The mapping is private: what is written to it does not reach the file.
class MappedShard {
 public:
  // mapping  [in]   from mmap(), or empty; unmapped by the destructor
  explicit MappedShard(std::span<std::uint8_t> mapping) : bytes_(mapping) {}
  MappedShard(MappedShard&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedShard& operator=(MappedShard&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedShard();

  std::span<std::uint8_t> bytes() const { return bytes_; }
  // Precondition: check_shard() accepts the shard of the record.
  std::span<std::uint8_t> bytes_of(const WeightRecord& record) const {
    return bytes_.subspan(record.begin, record.stored_bytes);
  }

 private:
  std::span<std::uint8_t> bytes_;
};

struct WeightDirectory {
  // Names of the index, newest first. The first one that exists is read: a directory that v0.16 to
  // v0.21 wrote has the second one.
  static constexpr std::string_view index_names[] = {"tensor-cache.json", "ndarray-cache.json"};

  std::filesystem::path path;
  // "tensor-cache.json"
  std::string_view index_name;
  WeightIndex index;

  // Reads the index.
  //
  // returns  NOT_FOUND    reason WEIGHT_INDEX: there is no index
  //          others       as parse_weight_index(), with the name of the index; of reading a file
  static Result<WeightDirectory> open(const std::filesystem::path& path);

  // Checks a shard of the index and maps its file.
  //
  // returns  MALFORMED    reason WEIGHT_SHARD: the file has another size than the index states
  //          others       as check_shard(); of opening a file
  // lifetime of the bytes: the result. If the file is truncated meanwhile, reading the lost pages
  //          raises SIGBUS: install files by rename, never by overwriting
  Result<MappedShard> map(const WeightShard& shard) const;
};

}  // namespace gantry
