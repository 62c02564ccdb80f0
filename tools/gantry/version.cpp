// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/terminal.hpp"

#include <gantry/embed.hpp>
#include "core/formats/elf/elf_types.hpp"

#include <gantry/abi.h>

namespace gantry::cli {
namespace {

std::string compiler() {
  return concat("g++ ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
}

void write_version(JsonWriter& json) {
  json.field("version", core_version());
  json.begin_object("abi");
  json.field("major", int{GANTRY_ABI_MAJOR});
  json.field("min_minor", 0);
  json.field("max_minor", int{GANTRY_ABI_MINOR});
  json.end();
  json.begin_object("schema");
  json.field("min", "1.0");
  json.field("max", "1.0");
  json.end();
  json.begin_object("build");
  json.field("type", GANTRY_BUILD_TYPE);
  json.field("compiler", compiler());
  json.field("machine", name_of(host_machine()));
  json.end();
}

Result<ExitStatus> version(const bool& json, const Globals&) {
  print(json ? json_document(write_version) : version_text() + "\n");
  return kDone;
}

}  // namespace

std::string version_text() {
  return concat("gantry ", core_version(), "\n  abi     ", GANTRY_ABI_MAJOR, ".0-",
                GANTRY_ABI_MAJOR, ".", GANTRY_ABI_MINOR, "\n  schema  1.0\n  build   ",
                GANTRY_BUILD_TYPE, ", ", compiler(), ", ", name_of(host_machine()));
}

void add_version(CLI::App& app, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "version", "show the version of the core, the plugin ABI, the schema and the build");
  command->add_flag("--json", *json, "print one JSON document");
  command->footer("Example:\n  gantry version");
  set_action(*command, invocation, json, version);
}

}  // namespace gantry::cli
