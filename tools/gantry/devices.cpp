// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/json.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/session.hpp"

#include <unistd.h>

namespace gantry::cli {
namespace {

std::string devices_text(const std::vector<DeviceInfo>& devices) {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  std::string text;
  for (const DeviceInfo& device : devices) {
    text += concat(terminal.paint(concat(escaped(device.name), ":", device.index), Tone::heading),
                   "  ", device.plugin.empty() ? "gantry itself" : escaped(device.plugin), "\n");
    for (const auto& [name, value] : device.attributes) {
      text += concat("  ", escaped(name), "  ", escaped(value), "\n");
    }
  }
  return text;
}

Json devices_json(const std::vector<DeviceInfo>& devices,
                  const std::vector<std::string>& problems) {
  Json json;
  json["devices"] = Json::array();
  for (const DeviceInfo& device : devices) {
    Json one;
    one["name"] = json_text(device.name);
    one["type"] = device.type;
    one["index"] = device.index;
    one["plugin"] = device.plugin.empty() ? Json() : Json(json_text(device.plugin));
    one["attributes"] = Json::object();
    for (const auto& [name, value] : device.attributes) {
      one["attributes"][json_text(name)] = json_text(value);
    }
    json["devices"].push_back(std::move(one));
  }
  json["problems"] = Json::array();
  for (const std::string& problem : problems) json["problems"].push_back(json_text(problem));
  return json;
}

int devices(const Globals& globals, bool json) {
  auto runtime = open_runtime(globals);
  if (!runtime.ok()) return report(runtime.error());
  std::vector<std::string> problems;
  const std::vector<DeviceInfo> found = runtime->devices(problems);
  print(json ? document_text(devices_json(found, problems)) : devices_text(found));
  for (const std::string& problem : problems) {
    if (!globals.quiet) warn(problem);
  }
  return kDone;
}

}  // namespace

void add_devices(CLI::App& app, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "devices of all installed plugins");
  command->add_flag("--json", *json, "print one JSON document");
  command->footer("Example:\n  gantry devices");
  command->callback([json, &invocation] {
    invocation.action = [json, &invocation] { return devices(invocation.globals, *json); };
  });
}

}  // namespace gantry::cli
