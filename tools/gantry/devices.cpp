// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/driver_guard.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/text.hpp"
#include "core/engine/runtime/devices.hpp"

#include <gantry/join.hpp>

#include <unistd.h>

namespace gantry::cli {
namespace {

// An attribute for people: sizes and frequencies have fitting units instead of those of the name.
std::string attribute_line(const ListedAttribute& attribute) {
  constexpr std::string_view bytes = "_bytes", kilohertz = "_khz";
  const std::string_view name = attribute.name;
  const auto number =
      attribute.is_number ? parse_number<std::uint64_t>(attribute.text) : std::nullopt;
  const auto line = [](std::string_view title, std::string_view text) {
    return text_line("  ", escaped(title), "  ", escaped(text));
  };
  if (number && name.ends_with(bytes))
    return line(name.substr(0, name.size() - bytes.size()), human_size(*number));
  if (number && name.ends_with(kilohertz)) {
    return line(name.substr(0, name.size() - kilohertz.size()),
                human_number(1000 * static_cast<double>(*number)) + "Hz");
  }
  return line(name, attribute.text);
}

std::string devices_text(const std::vector<ListedDevice>& devices) {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  std::string text;
  for (const ListedDevice& device : devices) {
    text += terminal.paint({escaped(device.name), ":", device.index}, Tone::heading);
    text += text_line("  ", device.plugin.empty() ? "built in" : escaped(device.plugin));
    for (const ListedAttribute& each : device.attributes) text += attribute_line(each);
    if (!device.same_as.empty()) {
      text +=
          text_line("  same device as  ",
                    join(device.same_as, ", ", [](const auto& other) { return escaped(other); }));
    }
  }
  return text;
}

void write_device(const ListedDevice& device, JsonWriter& json) {
  json.field("name", json_text(device.name));
  json.field("type", device.type);
  json.field("index", device.index);
  json.field("plugin", text_or_null(device.plugin));
  json.begin_object("attributes");
  for (const ListedAttribute& each : device.attributes) {
    json.key(json_text(each.name));
    each.is_number ? json.number(each.text) : json.value(json_text(each.text));
  }
  json.end();
  write_texts("same_as", device.same_as, json);
}

std::string devices_json(const std::vector<ListedDevice>& devices,
                         const std::vector<Error>& problems) {
  return json_document([&](JsonWriter& json) {
    write_objects("devices", devices, json, write_device);
    write_texts("problems", shown_texts(problems, true), json);
  });
}

struct DevicesOptions {
  int timeout_seconds = default_driver_seconds;
  bool json = false;
};

Result<ExitStatus> devices(const DevicesOptions& options, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  GANTRY_TRY(std::vector<Error> problems,
             exclude_failing_drivers(*runtime->plugins, globals,
                                     std::chrono::seconds(options.timeout_seconds)));
  const std::vector<ListedDevice> found = list_devices(*runtime, problems);
  print(options.json ? devices_json(found, problems) : devices_text(found));
  for (const Message& problem : shown_texts(problems, globals.verbose())) {
    if (!globals.quiet) warn(problem);
  }
  return kDone;
}

}  // namespace

void add_devices(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = app.add_subcommand("devices", "list the devices of all installed plugins");
  add_driver_timeout(*command, options->timeout_seconds);
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer("Example:\n  gantry devices");
  set_action(*command, invocation, options, devices);
}

}  // namespace gantry::cli
