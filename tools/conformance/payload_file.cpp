// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/payload_file.hpp"

#include "core/base/mapped_file.hpp"
#include "core/base/text_file.hpp"
#include "core/base/yaml/yaml_record.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/target/target.hpp"
#include "core/formats/target/target_kinds.hpp"
#include "core/plugins/choice/declared_layouts.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace gantry::kit {
namespace {

constexpr YamlLimits kLimits{.bytes = std::size_t{4} << 20, .depth = 16};

constexpr std::string_view kTags[] = {"unknown", "no", "yes"};
constexpr std::string_view kNumberings[] = {"unknown", "packed", "ffi_0_21", "ffi"};

constexpr YamlField kPayloadFields[] = {
    {.name = "key", .type = YamlType::text, .required = true},
    {.name = "hex", .type = YamlType::text},
    {.name = "file", .type = YamlType::text},
    {.name = "artifact", .type = YamlType::text},
    {.name = "argument_tags", .type = YamlType::choice, .choices = kTags},
    {.name = "numbering", .type = YamlType::choice, .choices = kNumberings},
    {.name = "tolerance", .type = YamlType::number},
    {.name = "refused", .type = YamlType::list, .items = YamlType::text, .longest = 16},
    {.name = "calls",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 1024,
     .fields = golden_call_fields},
    {.name = "loses", .type = YamlType::record, .fields = golden_call_fields},
    {.name = "runs",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 1024,
     .fields = golden_run_fields},
};
constexpr YamlField kKernelFields[] = {
    {.name = "name", .type = YamlType::text, .required = true},
    {.name = "arguments", .type = YamlType::list, .items = YamlType::text, .longest = 256},
    {.name = "launch", .type = YamlType::list, .items = YamlType::text, .longest = 16},
};
constexpr YamlField kBuildFields[] = {
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
constexpr YamlField kFileFields[] = {
    {.name = "schema", .type = YamlType::quoted_text, .required = true},
    {.name = "payloads",
     .type = YamlType::list,
     .required = true,
     .items = YamlType::record,
     .longest = 256,
     .fields = kPayloadFields},
    {.name = "builds",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 64,
     .fields = kBuildFields},
};

std::uint32_t index_in(std::span<const std::string_view> choices, const std::string& text) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == text) return static_cast<std::uint32_t>(i);
  }
  return 0;
}

Result<std::vector<std::uint8_t>> bytes_of_hex(const YamlRecord& record) {
  std::vector<std::uint8_t> bytes;
  int half = -1;
  for (const char c : record.text("hex")) {
    if (c == ' ' || c == '\n') continue;
    constexpr std::string_view digits = "0123456789abcdef";
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos)
      return record.error("hex", "contains ", quoted(std::string_view(&c, 1)),
                          ", expected 0-9, a-f and blanks");
    if (half < 0) {
      half = static_cast<int>(digit);
    } else {
      bytes.push_back(static_cast<std::uint8_t>(half * 16 + static_cast<int>(digit)));
      half = -1;
    }
  }
  if (half >= 0) return record.error("hex", "has an odd number of digits");
  return bytes;
}

// The entry of the payload's key in an artifact, with the facts about its exporter.
Status read_from_artifact(const YamlRecord& record, const std::string& path,
                          const Manifest& manifest, Payload& payload) {
  PayloadLayouts layouts = PayloadLayouts::built_in();
  Candidate candidate;
  candidate.manifest = std::make_shared<const Manifest>(manifest);
  add_declared_layouts({&candidate, 1}, {}, layouts);
  GANTRY_TRY(const auto file, MappedFile::open(path));
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(file));
  GANTRY_TRY(const Container container, read_container(elf, layouts));
  for (std::size_t i = 0; i < container.entries.size(); ++i) {
    const Entry& entry = container.entries[i];
    if (entry.type_key != payload.key) continue;
    payload.entry = i;
    if (!container.tree.children_of(i).empty()) payload.artifact = path;
    payload.bytes.assign(entry.payload.begin(), entry.payload.end());
    payload.argument_tags = static_cast<std::uint32_t>(container.facts.argument_tags);
    payload.numbering = static_cast<std::uint32_t>(container.facts.numbering);
    return {};
  }
  return record.error("artifact", path, " has no module of type key ", quoted(payload.key));
}

Result<Payload> read_payload(const YamlDocument& document, const YamlRecord& record,
                             const std::filesystem::path& directory, const Manifest& manifest) {
  Payload payload;
  payload.key = record.text("key");
  if (manifest.key_for(payload.key) == nullptr) {
    return record.error("key", "is ", quoted(payload.key), ", ", manifest.file, " has ",
                        join(manifest.keys, ", ", [](const ManifestKey& key) { return key.key; }));
  }
  payload.argument_tags = index_in(kTags, record.text("argument_tags", "unknown"));
  payload.numbering = index_in(kNumberings, record.text("numbering", "unknown"));
  payload.tolerance = record.number("tolerance", 1e-5);
  if (record.has("hex") + record.has("file") + record.has("artifact") != 1)
    return record.error("key",
                        "the payload has none or several of hex, file and artifact, expected one");
  const auto path = [&](std::string_view key) { return (directory / record.text(key)).string(); };
  if (record.has("hex")) {
    GANTRY_TRY(payload.bytes, bytes_of_hex(record));
  } else if (record.has("file")) {
    GANTRY_TRY(const auto file, MappedFile::open(path("file")));
    payload.bytes.assign(file->bytes().begin(), file->bytes().end());
  } else {
    GANTRY_CHECK(read_from_artifact(record, path("artifact"), manifest, payload));
  }
  payload.refused = record.texts("refused");
  if (record.has("refused") && payload.refused.empty())
    return record.error("refused", "is empty, expected words of the error");
  for (const YamlRecord& call : record.records("calls")) {
    GANTRY_TRY(GoldenCall read, read_golden_call(call));
    payload.calls.push_back(std::move(read));
  }
  if (record.has("loses")) {
    GANTRY_TRY(payload.loses, read_golden_call(record.record("loses")));
  }
  for (const YamlRecord& run : record.records("runs")) {
    GANTRY_TRY(GoldenRun read, read_golden_run(document, run));
    payload.runs.push_back(std::move(read));
  }
  return payload;
}

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

// Reads a record with kBuildFields.
//
// manifest [in]   each target is of one of its kinds with languages
// returns  malformed with file, line and column
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

}  // namespace

Result<GoldenFile> read_payload_file(const std::string& path, const Manifest& manifest) {
  GANTRY_TRY(const std::string text, read_text_file(path, kLimits.bytes));
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, path, kLimits));
  GANTRY_TRY(const YamlRecord root, read_record(document, kFileFields));
  if (root.text("schema") != "1.0")
    return root.error("schema", "is ", quoted(root.text("schema")), ", expected \"1.0\"");
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  GoldenFile file;
  for (const YamlRecord& record : root.records("payloads")) {
    GANTRY_TRY(Payload payload, read_payload(document, record, directory, manifest));
    payload.name = concat("payload ", file.payloads.size(), " of ", path);
    file.payloads.push_back(std::move(payload));
  }
  for (const YamlRecord& record : root.records("builds")) {
    GANTRY_TRY(GoldenBuild build, read_golden_build(record, manifest));
    build.name = concat("build ", file.builds.size(), " of ", path);
    file.builds.push_back(std::move(build));
  }
  return file;
}

}  // namespace gantry::kit
