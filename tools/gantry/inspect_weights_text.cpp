// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/weights.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/text_table.hpp"
#include "tools/gantry/inspect_text.hpp"

#include <gantry/dtype_text.hpp>

#include <vector>

namespace gantry::cli {

void write_weights_text(const WeightDirectory& weights,
                        const std::function<void(std::string_view, std::string_view)>& field,
                        const std::function<void(const Message&)>& section,
                        const Terminal& terminal, const TextSink& sink) {
  const WeightTotals totals = totals_of(weights.index);
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

  const std::vector<ListedWeight> records = records_of(weights.index);
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

}  // namespace gantry::cli
