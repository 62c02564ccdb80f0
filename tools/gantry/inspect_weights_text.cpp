// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/json_document.hpp"
#include "tools/gantry/common/text_table.hpp"
#include "tools/gantry/inspect_report.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::cli {
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

struct Totals {
  std::uint64_t records = 0;
  // in shards, and as tensors
  std::uint64_t stored = 0;
  std::uint64_t loaded = 0;
};

Totals totals_of(const WeightIndex& index) {
  Totals totals;
  for (const WeightShard& shard : index.shards) {
    totals.records += shard.records.size();
    for (const WeightRecord& record : shard.records) {
      totals.stored = saturated_sum(totals.stored, record.stored_bytes);
      totals.loaded = saturated_sum(totals.loaded, loaded_bytes(record));
    }
  }
  return totals;
}

// A record and the number of its shard.
struct Listed {
  std::size_t shard;
  const WeightRecord* record;
};

std::vector<Listed> records_of(const WeightIndex& index) {
  std::vector<Listed> all;
  for (std::size_t i = 0; i < index.shards.size(); ++i) {
    for (const WeightRecord& record : index.shards[i].records) all.push_back({i, &record});
  }
  return all;
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

void write_weights_text(const WeightDirectory& weights,
                        const std::function<void(std::string_view, std::string_view)>& field,
                        const std::function<void(const Message&)>& section,
                        const Terminal& terminal, const TextSink& sink) {
  const Totals totals = totals_of(weights.index);
  const std::vector<WeightShard>& shards = weights.index.shards;
  field("index", weights.index_name);
  field("weights", concat(totals.records, ", ", human_size(totals.stored), " stored, ",
                          human_size(totals.loaded), " when loaded"));

  section({"shards (", shards.size(), ")"});
  write_table(
      {{"index", Align::right}, {"bytes", Align::right}, {"weights", Align::right}, {"path"}},
      shards.size(),
      [&](std::size_t i) -> TableRow {
        return {concat(i), concat(shards[i].bytes), concat(shards[i].records.size()),
                escaped(shards[i].path)};
      },
      terminal, sink);

  const std::vector<Listed> records = records_of(weights.index);
  section({"weights (", records.size(), ")"});
  write_table(
      {{"name"},
       {"type"},
       {"format"},
       {"bytes", Align::right},
       {"shard", Align::right},
       {"offset", Align::right}},
      records.size(),
      [&](std::size_t i) -> TableRow {
        const WeightRecord& record = *records[i].record;
        return {escaped(record.name),     type_text(record.dtype, record.shape),
                escaped(record.format),   concat(record.stored_bytes),
                concat(records[i].shard), concat(record.begin)};
      },
      terminal, sink);
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
                [](const Listed& listed, JsonWriter& out) {
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
  const Totals totals = totals_of(weights.index);
  json.begin_object("totals");
  json.field("weights", totals.records);
  json.field("size", totals.stored);
  json.field("loaded_size", totals.loaded);
  json.end();
}

}  // namespace gantry::cli
