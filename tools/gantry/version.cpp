// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/json.hpp"
#include "tools/gantry/common/terminal.hpp"

#include "core/elf/elf_types.hpp"
#include "core/runtime/runtime.hpp"

#include <gantry/abi.h>

namespace gantry::cli {
namespace {

std::string compiler() {
  return concat("g++ ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
}

Json version_json() {
  Json document;
  document["version"] = core_version();
  document["abi"] = {
      {"major", GANTRY_ABI_MAJOR}, {"min_minor", 0}, {"max_minor", GANTRY_ABI_MINOR}};
  document["schema"] = {{"min", "1.0"}, {"max", "1.0"}};
  document["build"] = {
      {"type", GANTRY_BUILD_TYPE}, {"compiler", compiler()}, {"machine", name_of(host_machine())}};
  return document;
}

}  // namespace

std::string version_text() {
  return concat("gantry ", core_version(), "\n  abi     ", GANTRY_ABI_MAJOR, ".0-",
                GANTRY_ABI_MAJOR, ".", GANTRY_ABI_MINOR, "\n  schema  1.0\n  build   ",
                GANTRY_BUILD_TYPE, ", ", compiler(), ", ", name_of(host_machine()));
}

void add_version(CLI::App& app, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("version", "core, plugin ABI, manifest schema and build");
  command->add_flag("--json", *json, "print one JSON document");
  command->footer("Example:\n  gantry version");
  command->callback([json, &invocation] {
    invocation.action = [json] {
      print(*json ? document_text(version_json()) : version_text() + "\n");
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace gantry::cli
