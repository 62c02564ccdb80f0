// SPDX-License-Identifier: Apache-2.0
//
// Case 61: saving payloads.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/limited_sink.hpp"
#include "tools/conformance/plugin_call.hpp"

#include <gantry/abi_boundary.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gantry::kit {
namespace {

// File offset of an aligned payload: a multiple of no alignment.
constexpr std::uint64_t kSavedPosition = 1001;

Result<std::optional<std::vector<std::uint8_t>>> save(const LoadedModule& module, std::size_t max,
                                                      gantry_code* code,
                                                      std::uint32_t alignment = 0) {
  const gantry_module_table* const table = module.pair.table;
  if (!GANTRY_HAS(table, save_binary) || table->save_binary == nullptr)
    return skipped("the module has no save_binary");
  LimitedSink sink(max);
  sink.raw.alignment = alignment;
  sink.raw.position = alignment == 0 ? 0 : kSavedPosition;
  StatusBuffer status;
  *code = status.call([&](gantry_status* failure) {
    const PluginCall record("save_binary");
    return table->save_binary(module.pair.self, &sink.raw, failure);
  });
  if (*code != GANTRY_OK) return std::optional<std::vector<std::uint8_t>>();
  return std::optional(std::move(sink.bytes));
}

// Saves with an alignment, loads the result and makes the golden calls.
Status check_aligned(Stage& stage, const Payload& payload, const LoadedModule& module) {
  constexpr std::uint32_t alignment = 128;
  gantry_code code = GANTRY_OK;
  GANTRY_TRY(const auto saved, save(module, SIZE_MAX, &code, alignment));
  // Not every payload can be aligned.
  if (code == GANTRY_UNSUPPORTED) return {};
  if (code != GANTRY_OK)
    return bug("save_binary fails with code ", code, " for an alignment of ", alignment);
  const PinnedBytes given = pinned(*saved);
  const auto again = stage.load(payload, given.bytes->bytes(), given.pin.get());
  if (!again.ok()) {
    return bug("load_binary refuses what save_binary writes with an alignment of ", alignment, ": ",
               first_line(again.error()));
  }
  GANTRY_TRY(const auto twice, save(*again, SIZE_MAX, &code, alignment));
  if (code != GANTRY_OK || *twice != *saved) {
    return bug("save_binary writes other bytes for a module that it wrote with an alignment of ",
               alignment);
  }
  const auto device = stage.device_for(payload);
  // Case 51 reports golden calls that fail before anything is saved.
  if (!device.ok() || !check_calls(stage, **device, module, payload).ok()) return {};
  Status called = check_calls(stage, **device, *again, payload);
  if (called.ok()) return {};
  return std::move(called).error().at("after saving with an alignment of ", alignment);
}

// 61
Status saves_what_it_loads(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    gantry_code code = GANTRY_OK;
    GANTRY_TRY(const auto saved, save(module, SIZE_MAX, &code));
    if (code != GANTRY_OK) return bug("save_binary fails with code ", code);
    if (*saved != payload.bytes) {
      return bug("save_binary writes ", saved->size(), " bytes that differ from the payload of ",
                 payload.bytes.size(), " bytes");
    }
    for (const std::size_t max :
         {std::size_t{0}, payload.bytes.size() / 2, payload.bytes.size() - 1}) {
      if (max >= payload.bytes.size()) continue;
      GANTRY_TRY(const auto cut, save(module, max, &code));
      if (code == GANTRY_OK)
        return bug("save_binary succeeds with a sink that fails after ", max, " bytes");
      if (code != GANTRY_EXHAUSTED)
        return bug("save_binary returns code ", code, ", its sink returned ",
                   gantry_code{GANTRY_EXHAUSTED});
    }
    return check_aligned(stage, payload, module);
  });
}

constexpr Case kSaveCases[] = {
    {61, Level::D, Weight::must, "saves-what-it-loads",
     "save_binary writes the payload's bytes, or with an alignment a payload with the same "
     "results; it "
     "returns the code of a sink that fails",
     "write what was read, in the same order, and return the code of write()", saves_what_it_loads},
};

}  // namespace

std::span<const Case> save_cases() { return kSaveCases; }

}  // namespace gantry::kit
