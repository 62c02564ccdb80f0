// SPDX-License-Identifier: Apache-2.0
//
// The generators of a program: those of plugins, and the built-in ones after them.
#pragma once

#include "core/formats/target/target_kinds.hpp"
#include "core/writing/generator/built_in_generators.hpp"

#include <gantry/message.hpp>
#include <gantry/result.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct Generators {
  // of the built-in generators
  GeneratorTools tools = {};
  // NULL: those of the host; borrowed
  const TargetKinds* kinds = nullptr;
  // opens the generator of a plugin; empty: there are no plugins
  std::function<Result<Generator>(std::string_view plugin)> open_plugin = {};
  // receives texts of compilers, and of payloads that contain source; may be empty
  std::function<void(const Message&)> warn = {};

  const TargetKinds& known_kinds() const;
};

// One of them.
struct GeneratorEntry {
  // id of the plugin, or of the row
  std::string name;
  // of sources; empty: any
  std::vector<std::string> languages;
  // NULL: of the plugin
  const BuiltInGenerator* built_in = nullptr;
};

// The generator of a plugin that declares a kind; empty: it declares none.
std::vector<GeneratorEntry> plugin_generators(const KnownTargetKind& kind);
GeneratorEntry entry_of(const BuiltInGenerator& row);
// All generators for targets of a kind, those of plugins first.
std::vector<GeneratorEntry> generators_of(const KnownTargetKind& kind);

// generators  [in]   borrowed by the result
// returns     the errors of the plugin
Result<Generator> open_generator(const GeneratorEntry& entry, const Generators& generators);

// Checks that a generator can run on this host.
//
// what     [in]   without sources
// returns  the error of the table's check
Status run_check(const Generator& generator, const gantry_build& what);

// Opens a generator and checks that it can compile for the default target of a kind.
//
// returns  the errors of open_generator() and run_check()
Status check_generator(const GeneratorEntry& entry, const KnownTargetKind& kind,
                       const Generators& generators);

}  // namespace gantry
