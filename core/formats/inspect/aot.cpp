// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/aot.hpp"

#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

constexpr std::string_view unknown = "known when loaded";

// Records of this form are written as "x  float32[1, 64], 256 B".
Detail array_detail(std::string_view name, gantry_dtype dtype, std::span<const std::int64_t> shape,
                    std::uint64_t bytes) {
  Detail extents{Detail::Kind::list, "shape", {}, {}};
  for (const std::int64_t extent : shape)
    extents.children.push_back({Detail::Kind::number, {}, concat(extent), {}});
  return {Detail::Kind::record,
          std::string(name),
          {},
          {{Detail::Kind::text, "dtype", dtype_text(dtype), {}},
           std::move(extents),
           {Detail::Kind::size, "size", concat(bytes), {}}}};
}

Detail tensors_detail(std::string name, const std::vector<AotTensor>& tensors) {
  Detail list{Detail::Kind::record, std::move(name), {}, {}};
  for (const AotTensor& tensor : tensors)
    list.children.push_back(array_detail(tensor.name, tensor.dtype, tensor.shape, tensor.bytes));
  return list;
}

}  // namespace

std::shared_ptr<const AotReport> inspect_aot(const ElfFile& elf, const Container& container) {
  const bool has_model = std::ranges::any_of(
      container.entries, [](const Entry& entry) { return entry.type_key == aot_factory_key; });
  const auto is_function = [&](std::string_view name) {
    const ElfSymbol* const symbol = elf.find(name);
    return symbol != nullptr && symbol->defined() && symbol->type == SymbolType::function;
  };
  if (!has_model || !is_function(aot_metadata_function)) return nullptr;
  auto report = std::make_shared<AotReport>();
  auto memory = loaded_memory(elf);
  if (!memory.ok()) return report;
  report->memory = std::move(*memory);
  std::vector<MemoryRange> ranges;
  for (const LoadedSegment& segment : report->memory.segments)
    ranges.push_back({segment.address, segment.bytes()});
  const MemoryImage image(std::move(ranges));
  const auto address = find_aot_metadata(image, report->memory.pointers, is_function);
  if (!address) return report;
  auto metadata = read_aot_metadata(image, *address);
  if (metadata.ok()) report->metadata = std::move(*metadata);
  return report;
}

void add_aot_details(const AotReport& report, Detail& details) {
  if (!report.metadata) {
    for (const char* const name : {"inputs", "outputs", "pools"})
      details.children.push_back({Detail::Kind::text, name, std::string(unknown), {}});
    return;
  }
  const AotMetadata& metadata = *report.metadata;
  details.children.push_back({Detail::Kind::text, "function", metadata.function(), {}});
  details.children.push_back(tensors_detail("inputs", metadata.inputs));
  details.children.push_back(tensors_detail("outputs", metadata.outputs));
  if (metadata.workspaces.empty()) return;
  details.children.push_back(tensors_detail("pools", metadata.workspaces));
  Detail constants{Detail::Kind::record, "constants", {}, {}};
  for (const AotConstant& constant : metadata.constants) {
    constants.children.push_back(array_detail(constant.name, constant.array.dtype,
                                              constant.array.shape, constant.array.data.size()));
  }
  details.children.push_back(std::move(constants));
}

}  // namespace gantry
