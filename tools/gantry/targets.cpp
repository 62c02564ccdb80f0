// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "core/base/text.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/plugin_generators.hpp"
#include "core/formats/target/target.hpp"
#include "core/writing/generator/generators.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/driver_guard.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gantry::cli {
namespace {

// The devices of this host for compilation targets: drivers are started when a device is first read.
class TargetDevices {
 public:
  // globals  [in]   of the runtime
  // limit    [in]   time for each driver
  TargetDevices(std::shared_ptr<RuntimeState> runtime, Globals globals,
                std::chrono::milliseconds limit)
      : runtime_(std::move(runtime)), globals_(std::move(globals)), limit_(limit) {}

  // returns  the failures of exclude_failing_drivers()
  // costs    the first call starts every driver: up to seconds
  Result<std::vector<ListedDevice>> all();
  // The function for parse_target(). Borrows this object.
  //
  // returns  not_found: no such device, with the number of devices and the errors of plugins
  DeviceAttributes attributes();
  // Errors of plugins since the first call.
  const std::vector<Error>& problems() const { return problems_; }

 private:
  std::shared_ptr<RuntimeState> runtime_;
  Globals globals_;
  std::chrono::milliseconds limit_;
  std::optional<std::vector<ListedDevice>> devices_;
  std::vector<Error> problems_;
};

Result<std::vector<ListedDevice>> TargetDevices::all() {
  if (!devices_) {
    GANTRY_TRY(problems_, exclude_failing_drivers(*runtime_->plugins, globals_, limit_));
    devices_ = list_devices(*runtime_, problems_);
  }
  return *devices_;
}

DeviceAttributes TargetDevices::attributes() {
  return [this](std::string_view device, std::int64_t index,
                std::string_view attribute) -> Result<std::optional<std::string>> {
    GANTRY_TRY(const std::vector<ListedDevice> devices, all());
    const auto found = std::ranges::find_if(devices, [&](const ListedDevice& info) {
      return info.name == device && info.index == index;
    });
    if (found == devices.end()) {
      const auto count = std::ranges::count(devices, device, &ListedDevice::name);
      Error error =
          not_found("device ", device, ':', index, " of from_device not found; this host has ",
                    count, count == 1 ? " device " : " devices ", quoted(device));
      for (const Message& problem : shown_texts(problems_, globals_.verbose())) error.at(problem);
      return error;
    }
    const std::string_view value = found->attribute(attribute);
    return value.empty() ? std::optional<std::string>() : std::optional(std::string(value));
  };
}

struct ListedGenerator {
  GeneratorEntry entry;
  // it cannot compile on this host, because
  Status state;
  // that it starts; empty: none
  std::string program;

  bool stores_sources() const {
    return entry.built_in != nullptr && entry.built_in->use != GeneratorUse::compiled;
  }
};

// A kind, the devices of this host that run its code, and its generators.
struct ListedKind {
  KnownTargetKind known;
  // "cuda:0"
  std::vector<std::string> devices;
  std::vector<ListedGenerator> generators;
};

std::vector<ListedGenerator> listed_generators(const KnownTargetKind& kind,
                                               const Generators& generators) {
  std::vector<ListedGenerator> all;
  for (GeneratorEntry& entry : generators_of(kind)) {
    Status state = check_generator(entry, kind, generators);
    std::string program;
    if (state.ok() && entry.built_in != nullptr) {
      auto found = find_generator_program(*entry.built_in, generators.tools.programs);
      if (found.ok()) program = *std::move(found);
    }
    all.push_back({std::move(entry), std::move(state), std::move(program)});
  }
  return all;
}

std::string value_text(const TargetValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) return join(*items, ",");
  return std::get<std::string>(value);
}

// "int, default 32, of the device"
std::string type_text(const TargetOption& option) {
  std::string text(name_of(option.type));
  if (option.fallback) text += concat(", default ", value_text(*option.fallback));
  if (!option.attribute.empty()) text += ", of the device";
  return text;
}

// "from glsl, spirv: compiled code, /usr/bin/glslangValidator"
std::string generator_text(const ListedGenerator& generator) {
  const GeneratorEntry& entry = generator.entry;
  std::string text;
  if (!entry.languages.empty()) text = concat("from ", escaped(join(entry.languages)), ": ");
  text += generator.stores_sources() ? "source" : "compiled code";
  if (!generator.program.empty()) text += concat(", ", escaped(generator.program));
  if (generator.state.ok()) return text;
  const std::string_view why = generator.state.error().message;
  return text + concat(", not on this host: ", why.substr(0, why.find('\n')));
}

std::string kinds_text(const std::vector<ListedKind>& kinds) {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  std::string text;
  for (const ListedKind& listed : kinds) {
    const TargetKind& kind = listed.known.kind;
    text += terminal.paint({escaped(kind.name)}, Tone::heading);
    text +=
        text_line("  ", listed.known.plugin.empty() ? "built in" : escaped(listed.known.plugin));
    text += text_line("  device  ", escaped(kind.device), ": ",
                      listed.devices.empty() ? "none on this host" : join(listed.devices));
    if (!kind.keys.empty()) text += text_line("  keys  ", escaped(join(kind.keys)));
    if (!listed.generators.empty()) text += text_line("  generators");
    for (const ListedGenerator& generator : listed.generators) {
      text += text_line("    ", escaped(generator.entry.name), "  ", generator_text(generator));
    }
    text += text_line("  options");
    for (const TargetOption& option : kind.options) {
      text += text_line("    ", escaped(option.name), "  ", escaped(type_text(option)), "  ",
                        escaped(option.doc));
    }
    if (!kind.tags.empty()) {
      text += text_line("  tags  ", escaped(join(kind.tags, ", ", &TargetTag::name)));
    }
  }
  text += text_line("options of every kind");
  for (const TargetOption& option : common_target_options()) {
    text += text_line("  ", option.name, "  ", type_text(option), "  ", option.doc);
  }
  return text;
}

void write_value(const TargetValue& value, JsonWriter& json) {
  if (const auto* text = std::get_if<std::string>(&value)) return json.value(json_text(*text));
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    json.begin_list();
    for (const std::string& item : *items) json.value(json_text(item));
    return json.end();
  }
  if (const auto* truth = std::get_if<bool>(&value)) return json.value(*truth);
  json.value(std::get<std::int64_t>(value));
}

void write_target_option(const TargetOption& option, JsonWriter& json) {
  json.field("name", json_text(option.name));
  json.field("type", name_of(option.type));
  json.key("default");
  option.fallback ? write_value(*option.fallback, json) : json.value(nullptr);
  json.field("doc", text_or_null(option.doc));
  json.field("attribute", text_or_null(option.attribute));
}

void write_generator(const ListedGenerator& generator, JsonWriter& json) {
  const GeneratorEntry& entry = generator.entry;
  json.field("name", json_text(entry.name));
  json.field("is_built_in", entry.built_in != nullptr);
  write_texts("languages", entry.languages, json);
  json.field("code", generator.stores_sources() ? "source" : "compiled");
  json.field("is_available", generator.state.ok());
  json.field("error", text_or_null(generator.state.ok() ? std::string()
                                                        : generator.state.error().message.text()));
  json.field("program", text_or_null(generator.program));
}

void write_kind(const ListedKind& listed, JsonWriter& json) {
  const TargetKind& kind = listed.known.kind;
  json.field("name", json_text(kind.name));
  json.field("plugin", text_or_null(listed.known.plugin));
  json.field("device", text_or_null(kind.device));
  json.field("device_type", kind.device_type);
  write_texts("devices", listed.devices, json);
  write_texts("keys", kind.keys, json);
  json.field("type_key", text_or_null(kind.type_key));
  write_texts("languages", kind.languages, json);
  write_objects("generators", listed.generators, json, write_generator);
  write_objects("options", kind.options, json, write_target_option);
  json.begin_object("tags");
  for (const TargetTag& tag : kind.tags) {
    json.begin_object(json_text(tag.name));
    for (const auto& [name, value] : tag.values) {
      json.key(json_text(name));
      write_value(value, json);
    }
    json.end();
  }
  json.end();
}

std::string kinds_json(const std::vector<ListedKind>& kinds, const std::vector<Error>& problems) {
  return json_document([&](JsonWriter& json) {
    write_objects("kinds", kinds, json, write_kind);
    write_objects("options", common_target_options(), json, write_target_option);
    write_texts("problems", shown_texts(problems, true), json);
  });
}

struct TargetsOptions {
  std::string target;
  int timeout_seconds = default_driver_seconds;
  bool text = false;
  bool json = false;
};

Result<ExitStatus> list_kinds(const std::shared_ptr<RuntimeState>& runtime,
                              const TargetsOptions& options, const Globals& globals) {
  const std::chrono::seconds limit(options.timeout_seconds);
  const CpuGenerators host(runtime);
  GANTRY_TRY(std::vector<Error> problems,
             exclude_failing_generators(*runtime->plugins, globals, limit));
  TargetDevices devices(runtime, globals, limit);
  GANTRY_TRY(const std::vector<ListedDevice> found, devices.all());
  problems.insert(problems.end(), devices.problems().begin(), devices.problems().end());
  std::vector<ListedKind> listed;
  for (const KnownTargetKind& known : host.kinds().all()) {
    listed.push_back({known, {}, listed_generators(known, host.generators())});
    for (const ListedDevice& device : found) {
      if (device.name != known.kind.device) continue;
      listed.back().devices.push_back(concat(device.name, ':', device.index));
    }
  }
  print(options.json ? kinds_json(listed, problems) : kinds_text(listed));
  for (const Message& problem : shown_texts(problems, globals.verbose())) {
    if (!globals.quiet) warn(problem);
  }
  return kDone;
}

Result<ExitStatus> targets(const TargetsOptions& options, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  if (options.target.empty()) return list_kinds(runtime, options, globals);
  TargetDevices devices(runtime, globals, std::chrono::seconds(options.timeout_seconds));
  const TargetKinds kinds = target_kinds(*runtime->plugins);
  GANTRY_TRY(const CompileTarget target, parse_target(options.target, kinds, devices.attributes()));
  print(options.text ? text_line(target_text(target)) : target_json(target, json_style));
  return kDone;
}

}  // namespace

void add_targets(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<TargetsOptions>();
  CLI::App* command =
      app.add_subcommand("targets", "list the kinds of compilation targets, or read a target");
  command
      ->add_option("TARGET", options->target, "print this target, given as text or JSON, as JSON")
      ->check(not_empty());
  command->add_flag("--text", options->text, "print TARGET in the form of text");
  add_driver_timeout(*command, options->timeout_seconds);
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Examples:\n"
      "  gantry targets\n"
      "  gantry targets 'cuda -arch=sm_90'\n"
      "  gantry targets --text '{\"kind\": \"opencl\", \"from_device\": 0}'");
  set_action(*command, invocation, options, targets);
}

}  // namespace gantry::cli
