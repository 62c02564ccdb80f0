// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/golden_build.hpp"

#include "core/formats/target/target.hpp"
#include "core/formats/target/target_kinds.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace gantry::kit {
namespace {

constexpr YamlField kKernelFields[] = {
    {.name = "name", .type = YamlType::text, .required = true},
    {.name = "arguments", .type = YamlType::list, .items = YamlType::text, .longest = 256},
    {.name = "launch", .type = YamlType::list, .items = YamlType::text, .longest = 16},
};

Result<GoldenKernel> read_kernel(const YamlRecord& record) {
  GoldenKernel kernel{record.text("name"), {}, record.texts("launch")};
  for (const std::string& text : record.texts("arguments")) {
    const auto dtype = parse_dtype(text);
    if (!dtype.ok()) return record.error("arguments", dtype.error().message);
    kernel.arguments.push_back(*dtype);
  }
  return kernel;
}

// Reads a target of a kind from whose sources the plugin builds payloads.
Result<CompileTarget> read_target(const YamlRecord& record, std::string_view key,
                                  const std::string& text, const TargetKinds& kinds,
                                  const Manifest& manifest) {
  const auto target = parse_target(text, kinds);
  if (!target.ok()) return record.error(key, target.error().message);
  const auto kind = std::ranges::find(manifest.target_kinds, target->kind, &TargetKind::name);
  if (kind != manifest.target_kinds.end() && !kind->languages.empty()) return *target;
  return record.error(key, "is of kind ", quoted(target->kind),
                      ", expected a kind of the manifest that has languages");
}

}  // namespace

constinit const YamlField golden_build_fields[8] = {
    {.name = "target", .type = YamlType::text, .required = true},
    {.name = "language", .type = YamlType::text},
    {.name = "source", .type = YamlType::text, .required = true},
    {.name = "broken", .type = YamlType::text, .required = true},
    {.name = "kernels",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 256,
     .fields = kKernelFields},
    {.name = "refused_targets", .type = YamlType::list, .items = YamlType::text, .longest = 64},
    {.name = "tolerance", .type = YamlType::number},
    {.name = "calls",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 1024,
     .fields = golden_call_fields},
};

Result<GoldenBuild> read_golden_build(const YamlRecord& record, const Manifest& manifest) {
  TargetKinds kinds;
  for (const TargetKind& kind : manifest.target_kinds) kinds.add(kind, manifest.id);
  GANTRY_TRY(const CompileTarget target,
             read_target(record, "target", record.text("target"), kinds, manifest));
  const TargetKind& kind = kinds.find(target.kind)->kind;
  GoldenBuild build;
  build.kind = kind.name;
  build.type_key = kind.type_key;
  build.target = target_json(target);
  build.language = record.text("language", kind.languages.front());
  if (std::ranges::find(kind.languages, build.language) == kind.languages.end()) {
    return record.error("language", "is ", quoted(build.language), ", kind ", quoted(kind.name),
                        " is built from ", join(kind.languages));
  }
  build.source = record.text("source");
  build.broken = record.text("broken");
  for (const YamlRecord& each : record.records("kernels")) {
    GANTRY_TRY(GoldenKernel kernel, read_kernel(each));
    build.kernels.push_back(std::move(kernel));
  }
  for (const std::string& text : record.texts("refused_targets")) {
    GANTRY_TRY(const CompileTarget refused,
               read_target(record, "refused_targets", text, kinds, manifest));
    if (refused.kind != target.kind) {
      return record.error("refused_targets", quoted(text), " is not of kind ", quoted(kind.name));
    }
    build.refused_targets.push_back(target_json(refused));
  }
  build.tolerance = record.number("tolerance", 1e-5);
  for (const YamlRecord& each : record.records("calls")) {
    GANTRY_TRY(GoldenCall call, read_golden_call(each));
    build.calls.push_back(std::move(call));
  }
  return build;
}

}  // namespace gantry::kit
