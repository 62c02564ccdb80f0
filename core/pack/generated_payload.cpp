// SPDX-License-Identifier: Apache-2.0
#include "core/pack/generated_payload.hpp"

#include "core/base/text.hpp"
#include "core/pack/moved_payload.hpp"
#include "core/pack/stream_sink.hpp"
#include "core/target/target.hpp"
#include "core/toolchain/link.hpp"

#include <gantry/host.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/cuda_architecture.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <dmlc/memory_io.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace gantry {
namespace {

// Bytes of a compiler's log in an error.
constexpr std::size_t max_log_bytes = 16 * 1024;

// The strings and lists to which a gantry_build refers.
struct BuildRecords {
  std::vector<gantry_source> sources;
  std::vector<std::vector<gantry_bytes>> tags;
  std::vector<gantry_kernel_record> kernels;
};

BuildRecords records_of(const KernelTable& kernels, const KernelFiles& files) {
  BuildRecords records;
  for (const KernelFile& file : files.files) {
    records.sources.push_back(
        {bytes_of(file.name), bytes_of(file.language), bytes_of(file.text())});
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelInfo& kernel = kernels.kernels()[i];
    std::vector<gantry_bytes>& tags = records.tags.emplace_back();
    for (const std::string& tag : kernel.launch_tags) tags.push_back(bytes_of(tag));
    // The list of a vector that is moved stays where it is.
    records.kernels.push_back({bytes_of(kernel.name), files.of_kernel[i], kernel.parameters.data(),
                               kernel.parameters.size(), tags.data(), tags.size()});
  }
  return records;
}

// Collects what a generator reports.
struct Diagnostics {
  const KernelCompilers& compilers;
  std::string log;
  // the first text that could not be kept
  Status lost;

  static void add(void* self, std::int32_t level, gantry_bytes text) {
    auto& to = *static_cast<Diagnostics*>(self);
    Status kept = guard([&]() -> Status {
      const std::string_view shown = view_of(text);
      if (level == GANTRY_LOG_ERROR) {
        to.log.append(shown.substr(0, max_log_bytes - std::min(max_log_bytes, to.log.size())));
      } else if (to.compilers.warn) {
        to.compilers.warn(Message::lines(shown));
      }
      return {};
    });
    if (to.lost.ok()) to.lost = std::move(kept);
  }
};

// A line that includes a file. In the name of a file, it has no escapes.
Result<std::string> include_of(const std::filesystem::path& file) {
  if (file.native().find_first_of("\"\\\n") == std::string::npos) {
    return concat("#include \"", file.native(), "\"\n");
  }
  return invalid("path ", quoted(file.native()),
                 " of a source has a quote, a backslash or the end of a line, which the path of a "
                 "source for nvcc must not have");
}

// Adds the names of its kernels to a payload.
Result<Pieces> with_names(const DeviceModuleSource& module, Pieces payload,
                          const std::string& plugin, const PayloadForm& form) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  if (!form.has_kernel_names || !layouts.contains(module.type_key)) return payload;
  std::string bytes;
  dmlc::MemoryStringStream stream(&bytes);
  GANTRY_CHECK(payload.write_to(stream));
  ExporterFacts facts;
  facts.argument_tags = ExporterFacts::ArgumentTags::yes;
  Pieces named;
  Status moved = write_moved_payload(
      module.type_key, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, facts,
      layouts, form.form, named);
  if (moved.ok()) return named;
  return std::move(moved).error().at("in what plugin ", plugin, " builds").at(module.location);
}

Status check_languages(const KernelFiles& files, const TargetKind& kind) {
  for (const KernelFile& file : files.files) {
    if (std::ranges::find(kind.languages, file.language) != kind.languages.end()) continue;
    return unsupported("source ", quoted(file.name), " is of language ", quoted(file.language),
                       ", target kind ", quoted(kind.name), " is built from ",
                       kind.languages.empty() ? "none" : join(kind.languages));
  }
  return {};
}

}  // namespace

Result<std::optional<KernelTarget>> target_of(const DeviceModuleSource& module,
                                              const TargetKinds& kinds) {
  const auto found = kinds.for_type_key(module.type_key);
  if (module.target.empty() && found.empty()) return std::optional<KernelTarget>();
  const std::string& text = module.target.empty() ? found.front()->kind.name : module.target;
  Result<CompileTarget> target = parse_target(text, kinds);
  if (!target.ok()) return std::move(target).failure().at("for ", module.target_location);
  const KnownTargetKind* const kind = kinds.find(target->kind);
  if (!kind->kind.type_key.empty() && kind->kind.type_key != module.type_key) {
    return invalid("target kind ", quoted(target->kind), " builds payloads of type key ",
                   quoted(kind->kind.type_key), ", the module has ", quoted(module.type_key))
        .at("for ", module.target_location);
  }
  return std::optional(KernelTarget{kind, target_json(*target), target->text("arch")});
}

Result<Pieces> generated_payload(const DeviceModuleSource& module, const KernelTable& kernels,
                                 const KernelFiles& files, const KernelTarget& target,
                                 const KernelCompilers& compilers, const PayloadForm& form) {
  const TargetKind& kind = target.kind->kind;
  if (target.kind->plugin.empty() || kind.type_key.empty() || !compilers.open_generator) {
    return unsupported("target kind ", quoted(kind.name), " has no code generator of a plugin")
        .at(module.location);
  }
  if (Status checked = check_languages(files, kind); !checked.ok()) {
    return std::move(checked).error().at(module.location);
  }
  Result<Generator> opened = compilers.open_generator(target.kind->plugin);
  if (!opened.ok()) return std::move(opened).failure().at("for ", module.location);
  const Generator& generator = *opened;

  const BuildRecords records = records_of(kernels, files);
  Diagnostics diagnostics{compilers, {}, {}};
  gantry_build what{};
  what.struct_size = sizeof what;
  if (module.code == KernelCode::compiled) what.flags = GANTRY_BUILD_COMPILED;
  what.kind = bytes_of(kind.name);
  what.target = bytes_of(target.json);
  what.sources = records.sources.data();
  what.source_count = records.sources.size();
  what.kernels = records.kernels.data();
  what.kernel_count = records.kernels.size();
  what.argument_tags = form.has_argument_tags ? GANTRY_ARGUMENT_TAGS_YES : GANTRY_ARGUMENT_TAGS_NO;
  what.self = &diagnostics;
  what.diagnostic = Diagnostics::add;
  Pieces payload;
  const StreamSink sink(payload);
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* reported) {
    return generator.table.build(generator.self, &what, sink.raw(), reported);
  });
  if (code == GANTRY_OK) {
    if (!diagnostics.lost.ok()) return std::move(diagnostics.lost).error().at(module.location);
    return with_names(module, std::move(payload), generator.plugin, form);
  }
  Error error = status.error(code, concat("build of plugin ", generator.plugin));
  error.message.at_lines(diagnostics.log);
  return error.at(module.location);
}

Result<std::string> nvcc_ptx(const DeviceModuleSource& module, const KernelFiles& files,
                             const std::string& arch, const KernelCompilers& compilers) {
  const std::filesystem::path all = compilers.scratch / "kernels.cu";
  const std::filesystem::path ptx = compilers.scratch / "kernels.ptx";
  GANTRY_TRY(const std::string_view number, cuda_architecture(arch));
  Pieces includes;
  for (const KernelFile& file : files.files) {
    GANTRY_TRY(const std::string line, include_of(compilers.directory / file.name));
    includes.write_bytes(line);
  }
  // Those of another module would be taken for this one's.
  for (const std::filesystem::path& old : {all, ptx}) {
    std::error_code ignored;
    std::filesystem::remove(old, ignored);
  }
  GANTRY_CHECK(write_new_file(all, includes));
  std::vector<std::string> words = compilers.nvcc;
  words.insert(words.end(),
               {"-ptx", concat("-arch=compute_", number), "-o", ptx.native(), all.native()});
  GANTRY_CHECK(run_compiler("CUDA compiler", words, compilers.directory, compilers.search));
  GANTRY_TRY(const auto file, MappedFile::open(ptx));
  std::string text(as_text(file->bytes()));
  for (const KernelSource& kernel : module.kernels) {
    if (text.find(concat(".entry ", kernel.name, "(")) != text.npos) continue;
    return not_found("source ", quoted(kernel.source), " has no kernel ", quoted(kernel.name),
                     ", expected: extern \"C\" __global__ void ", kernel.name, "(...)")
        .at(kernel.location);
  }
  return text;
}

}  // namespace gantry
