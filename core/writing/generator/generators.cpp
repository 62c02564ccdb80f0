// SPDX-License-Identifier: Apache-2.0
#include "core/writing/generator/generators.hpp"

#include "core/formats/target/target.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

namespace gantry {

const TargetKinds& Generators::known_kinds() const {
  static const TargetKinds host;
  return kinds == nullptr ? host : *kinds;
}

std::vector<GeneratorEntry> plugin_generators(const KnownTargetKind& kind) {
  if (kind.plugin.empty() || kind.kind.type_key.empty() || kind.kind.languages.empty()) return {};
  return {{kind.plugin, kind.kind.languages, nullptr}};
}

GeneratorEntry entry_of(const BuiltInGenerator& row) {
  return {std::string(row.name), {row.languages.begin(), row.languages.end()}, &row};
}

std::vector<GeneratorEntry> generators_of(const KnownTargetKind& kind) {
  std::vector<GeneratorEntry> all = plugin_generators(kind);
  for (const BuiltInGenerator& row : built_in_generators()) {
    if (row.target_kind == kind.kind.name) all.push_back(entry_of(row));
  }
  return all;
}

Result<Generator> open_generator(const GeneratorEntry& entry, const Generators& generators) {
  if (entry.built_in != nullptr) return open_built_in(*entry.built_in, generators.tools);
  return generators.open_plugin(entry.name);
}

Status run_check(const Generator& generator, const gantry_build& what) {
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* reported) {
    return generator.table.check(generator.self, &what, reported);
  });
  if (code == GANTRY_OK) return {};
  return status.error(code, concat("check of generator ", generator.name));
}

Status check_generator(const GeneratorEntry& entry, const KnownTargetKind& kind,
                       const Generators& generators) {
  GANTRY_TRY(const CompileTarget target, parse_target(kind.kind.name, generators.known_kinds()));
  const std::string json = target_json(target);
  gantry_build what{};
  what.struct_size = sizeof what;
  what.flags = GANTRY_BUILD_COMPILED;
  what.kind = bytes_of(kind.kind.name);
  what.target = bytes_of(json);
  what.diagnostic = [](void*, std::int32_t, gantry_bytes) {};
  what.at_kernel = [](void*, std::uint64_t) {};
  GANTRY_TRY(const Generator generator, open_generator(entry, generators));
  return run_check(generator, what);
}

}  // namespace gantry
