// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/weights.hpp"

#include "core/base/digest/md5.hpp"
#include "core/base/json_document.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <map>
#include <string_view>
#include <utility>

namespace gantry {
namespace {

// Sizes in an index may be any numbers.
std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

// Bytes of the tensor; 0 for a shape that no tensor has, which check_shard() reports.
std::uint64_t loaded_bytes(const WeightRecord& record) {
  const auto bytes = tensor_bytes(record.shape, record.dtype);
  return bytes.ok() ? *bytes : 0;
}

void warn_of_repeated_names(const WeightIndex& index, WarningList& warnings) {
  std::map<std::string_view, std::size_t> shard_of;
  for (const auto& [shard, record] : records_of(index)) {
    const auto [known, is_new] = shard_of.try_emplace(record->name, shard);
    if (is_new) continue;
    const std::string first =
        known->second == shard ? "" : concat("shard ", known->second, " and ");
    warnings.add(Message(quoted(record->name), " occurs twice, in ", first, "shard ", shard,
                         ": the last one is loaded"));
    known->second = shard;
  }
}

}  // namespace

WeightTotals totals_of(const WeightIndex& index) {
  WeightTotals totals;
  for (const WeightShard& shard : index.shards) {
    totals.records += shard.records.size();
    for (const WeightRecord& record : shard.records) {
      totals.stored = saturated_sum(totals.stored, record.stored_bytes);
      totals.loaded = saturated_sum(totals.loaded, loaded_bytes(record));
    }
  }
  return totals;
}

std::vector<ListedWeight> records_of(const WeightIndex& index) {
  std::vector<ListedWeight> all;
  for (std::size_t i = 0; i < index.shards.size(); ++i) {
    for (const WeightRecord& record : index.shards[i].records) all.push_back({i, &record});
  }
  return all;
}

InspectReport inspect_weights(WeightDirectory directory) {
  InspectReport report;
  report.file = directory.path.native();
  report.kind = FileKind::weights;
  WarningList warnings;
  for (const WeightShard& shard : directory.index.shards) {
    report.size = saturated_sum(report.size, shard.bytes);
    const auto mapped = directory.map(shard);
    if (!mapped.ok()) warnings.add(mapped.error().message);
  }
  warn_of_repeated_names(directory.index, warnings);
  report.weight_warnings = warnings.take();
  report.weights = std::move(directory);
  return report;
}

Result<std::size_t> verify_weights(
    const WeightDirectory& directory,
    const std::function<void(std::uint64_t part, std::uint64_t total)>& summed) {
  std::uint64_t total = 0;
  for (const WeightShard& shard : directory.index.shards)
    total = saturated_sum(total, shard.md5.empty() ? 0 : shard.bytes);
  std::size_t count = 0;
  for (const WeightShard& shard : directory.index.shards) {
    if (shard.md5.empty()) continue;
    GANTRY_TRY(const MappedShard mapped, directory.map(shard));
    const std::string found = hex_text(md5(mapped.bytes(), [&](std::size_t size) {
      if (summed) summed(size, total);
    }));
    if (found != shard.md5) {
      return malformed(no_offset, "shard ", quoted(shard.path), " has the MD5 checksum ", found,
                       ", ", directory.index_name, " states ", quoted(shard.md5),
                       "; copy the directory again")
          .with_reason("WEIGHT_CHECKSUM");
    }
    ++count;
  }
  if (count != 0) return count;
  return invalid(directory.index_name,
                 " states no checksums (md5sum), so that none can be compared");
}

void write_weights_json(const WeightDirectory& weights, JsonWriter& json) {
  json.field("index", weights.index_name);
  write_objects("shards", weights.index.shards, json,
                [](const WeightShard& shard, JsonWriter& out) {
                  out.field("path", json_text(shard.path));
                  out.field("format", json_text(shard.format));
                  out.field("size", shard.bytes);
                });
  write_objects("weights", records_of(weights.index), json,
                [](const ListedWeight& listed, JsonWriter& out) {
                  const WeightRecord& record = *listed.record;
                  out.field("name", json_text(record.name));
                  out.field("dtype", dtype_text(record.dtype));
                  out.field("shape", record.shape);
                  out.field("format", json_text(record.format));
                  out.field("shard", listed.shard);
                  out.field("offset", record.begin);
                  out.field("size", record.stored_bytes);
                  out.field("loaded_size", loaded_bytes(record));
                });
  const WeightTotals totals = totals_of(weights.index);
  json.begin_object("totals");
  json.field("weights", totals.records);
  json.field("size", totals.stored);
  json.field("loaded_size", totals.loaded);
  json.end();
}

}  // namespace gantry
