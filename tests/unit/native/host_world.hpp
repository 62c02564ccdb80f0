// SPDX-License-Identifier: Apache-2.0
//
// The services of a runtime for CPU code: a thread pool, workspaces, the CPU device and globals.
#pragma once

#include "core/engine/module/module_graph.hpp"
#include "core/engine/native/context.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/native/library.hpp"
#include "core/engine/native/library_module.hpp"
#include "core/engine/native/thread_pool.hpp"
#include "core/engine/native/workspace.hpp"
#include "core/formats/container_location.hpp"
#include "tests/support/artifact.hpp"
#include "tests/support/files.hpp"

#include <gantry/value.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace gantry::test {

inline std::filesystem::path fixture(std::string_view name) {
  return build_tree() / "tests" / "host_fixtures" / name;
}

inline ExporterFacts facts_by_symbols(const ElfFile& elf) {
  return facts_of(locate_container(elf).value().symbols, ContainerLayout::none);
}

struct HostWorld {
  DeviceSet devices;
  Workspaces workspaces{devices};
  ThreadPool pool;
  std::shared_ptr<GlobalFunctions> globals = std::make_shared<GlobalFunctions>();
  HostServices services{&pool,   &workspaces, nullptr, false, globals, ffi::TypeRegistry::create(),
                        globals, &devices};

  explicit HostWorld(std::int32_t threads = 4) : pool(threads) {
    services.life = services.types;
    EXPECT_TRUE(add_host_globals(*globals).ok());
  }

  Result<std::shared_ptr<CpuLibrary>> open(const std::filesystem::path& path) {
    GANTRY_TRY(const auto file, MappedFile::open(path));
    GANTRY_TRY(ElfFile elf, ElfFile::parse(file));
    const ExporterFacts facts = facts_by_symbols(elf);
    return CpuLibrary::open(file, std::make_shared<const ElfFile>(std::move(elf)), facts, services);
  }

  // Returns a bound node `entry 0 "_lib" of <name>` without imports and without module context.
  Ref<ModuleNode> load(const std::filesystem::path& path) {
    auto library = open(path);
    EXPECT_TRUE(library.ok()) << (library.ok() ? "" : library.error().message);
    if (!library.ok()) return {};
    const auto artifact = artifact_of({"_lib"});
    artifact->name = path.filename().native();
    // Not retained: functions of the artifact that are among them would keep it.
    artifact->globals = {std::shared_ptr<void>(), globals.get()};
    Ref<ModuleNode> node = node_of(artifact, 0);
    const auto pair = new_library_module(std::move(*library), &services, *node);
    EXPECT_TRUE(pair.ok() && bind(*node, *pair).ok());
    return node;
  }
  // As load(), with the module context set.
  Ref<ModuleNode> load_whole(const std::filesystem::path& path) {
    Ref<ModuleNode> node = load(path);
    EXPECT_TRUE(node && set_module_context(*node, nullptr).ok());
    return node;
  }
};

inline Ref<FunctionObject> function_of(const Ref<ModuleNode>& node, std::string_view name) {
  auto found = find_function(*node, GANTRY_FIND_SELF, name);
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return found.ok() ? std::move(*found) : Ref<FunctionObject>();
}

inline gantry_value text_value(const char* text) {
  gantry_value value{};
  value.kind = GANTRY_CSTRING;
  value.cstring = text;
  return value;
}

// Calls a function of a module by name.
inline Result<Value> call_named(const Ref<ModuleNode>& node, std::string_view name,
                                std::vector<gantry_value> args = {}) {
  const Ref<FunctionObject> function = function_of(node, name);
  if (!function) return bug("the function of the test is missing");
  return call(*function, nullptr, args);
}

inline std::string text_of(const gantry_value& value) {
  gantry_bytes bytes{};
  return gantry_value_bytes(&value, &bytes) ? std::string(bytes.data, bytes.size) : "(no text)";
}

}  // namespace gantry::test
