// SPDX-License-Identifier: Apache-2.0
//
// The parts of a report that only directories of weights have.
#pragma once

#include "core/base/json_writer.hpp"
#include "core/formats/inspect/report.hpp"
#include "core/formats/weight_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gantry {

// Reports a directory of weights. Opens the shards to check their sizes, and reads none.
InspectReport inspect_weights(WeightDirectory directory);

// Compares the MD5 checksums that an index states with those of its shards. Returns the number of
// shards that have one.
//
// summed   [in]   called for each part: bytes, and those of all shards; may be empty
// returns  malformed    reason WEIGHT_CHECKSUM: a shard has another checksum; those of WeightDirectory::map()
//          invalid      the index states none
// costs    reads all shards
Result<std::size_t> verify_weights(
    const WeightDirectory& directory,
    const std::function<void(std::uint64_t part, std::uint64_t total)>& summed = {});

struct WeightTotals {
  std::uint64_t records = 0;
  // in shards, and as tensors
  std::uint64_t stored = 0;
  std::uint64_t loaded = 0;
};

WeightTotals totals_of(const WeightIndex& index);

// A record and the number of its shard.
struct ListedWeight {
  std::size_t shard;
  const WeightRecord* record;
};

std::vector<ListedWeight> records_of(const WeightIndex& index);

void write_weights_json(const WeightDirectory& weights, JsonWriter& json);

}  // namespace gantry
