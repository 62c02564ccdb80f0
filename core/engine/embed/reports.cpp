// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/reports.hpp"

#include "core/base/trace/chrome_trace.hpp"
#include "core/base/trace/self_times.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/embed/value_tree.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/module/unbound.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/plugins/choice/explain.hpp"

#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry {
namespace {

template <class Subject>
struct Report {
  std::string_view name;
  Result<Value> (*make)(Subject&);
};

template <class Subject, std::size_t N>
Result<Value> make_report(const Report<Subject> (&reports)[N], Subject& subject,
                          std::string_view what, std::string_view title) {
  for (const Report<Subject>& each : reports) {
    if (each.name == what) return each.make(subject);
  }
  return not_found("report ", quoted(what), " of ", title, " not found; reports: ",
                   join(reports, ", ", [](const Report<Subject>& each) { return each.name; }))
      .with_reason("REPORT");
}

std::vector<std::string> texts_of(const std::vector<Message>& messages) {
  std::vector<std::string> texts;
  for (const Message& message : messages) texts.push_back(message.text());
  return texts;
}

Result<Value> devices(RuntimeState& runtime) {
  std::vector<Error> problems;
  ValueList all;
  for (const ListedDevice& info : list_devices(runtime, problems)) {
    ValueList device, attributes;
    for (const ListedAttribute& each : info.attributes)
      GANTRY_CHECK(attributes.member(each.name, each.text));
    GANTRY_TRY(Value map, attributes.map());
    GANTRY_CHECK(device.member("name", info.name));
    GANTRY_CHECK(device.member("type", std::int64_t{info.type}));
    GANTRY_CHECK(device.member("index", std::int64_t{info.index}));
    GANTRY_CHECK(device.member("plugin", info.plugin));
    GANTRY_CHECK(device.member("attributes", std::move(map)));
    GANTRY_CHECK(device.member("same_as", info.same_as));
    GANTRY_TRY(Value made, device.map());
    all.item(std::move(made));
  }
  GANTRY_TRY(Value list, all.array());
  std::vector<std::string> texts;
  for (const Error& problem : problems) texts.push_back(problem.message.text());
  ValueList report;
  GANTRY_CHECK(report.member("devices", std::move(list)));
  GANTRY_CHECK(report.member("problems", texts));
  return report.map();
}

Result<Value> plugins(RuntimeState& runtime) {
  ValueList all;
  for (const Candidate& candidate : runtime.plugins->candidates()) {
    ValueList plugin;
    if (candidate.manifest) {
      GANTRY_CHECK(plugin.member("id", candidate.manifest->id));
      GANTRY_CHECK(plugin.member("version", candidate.manifest->version.text));
      GANTRY_CHECK(plugin.member("library", candidate.manifest->library_path));
    }
    GANTRY_CHECK(plugin.member("title", candidate.title()));
    GANTRY_CHECK(plugin.member("state", name_of(candidate.passed)));
    GANTRY_TRY(Value made, plugin.map());
    all.item(std::move(made));
  }
  GANTRY_TRY(Value list, all.array());
  std::vector<std::string> in_use;
  for (const Candidate& candidate : runtime.plugins->in_use()) in_use.push_back(candidate.title());
  const auto fallbacks = static_cast<std::int64_t>(runtime.plugins->fallbacks());
  ValueList report;
  GANTRY_CHECK(report.member("plugins", std::move(list)));
  GANTRY_CHECK(report.member("in_use", in_use));
  GANTRY_CHECK(report.member("fallbacks", fallbacks));
  GANTRY_CHECK(report.member("warnings", texts_of(runtime.plugins->warnings())));
  return report.map();
}

Result<Value> configuration(RuntimeState& runtime) {
  ValueList report;
  GANTRY_CHECK(report.member("files", runtime.config.files));
  GANTRY_CHECK(report.member("threads", std::int64_t{runtime.pool->size()}));
  GANTRY_CHECK(report.member("cache", runtime.cache_directory));
  return report.map();
}

Result<Value> explanation(RuntimeState& runtime) {
  PluginSet& plugins = *runtime.plugins;
  plugins.inspect_all();
  plugins.note_probes();
  Explanation explanation = explain(plugins, all_requirements(plugins, {}));
  add_changes(plugins, explanation);
  ValueList report;
  GANTRY_CHECK(report.member("text", to_text(explanation)));
  return report.map();
}

Result<Value> trace(RuntimeState& runtime) {
  ValueList report;
  GANTRY_CHECK(report.member("chrome_trace", chrome_trace(runtime.trace.get())));
  return report.map();
}

Result<Value> operators(RuntimeState& runtime) {
  ValueList all;
  if (runtime.trace != nullptr) {
    const std::vector<TraceEvent> events = runtime.trace->events();
    for (const auto& [name, time] : self_times(events)) {
      ValueList one;
      GANTRY_CHECK(one.member("name", name));
      GANTRY_CHECK(one.member("calls", static_cast<std::int64_t>(time.calls)));
      GANTRY_CHECK(one.member("ns", static_cast<std::int64_t>(time.ns)));
      GANTRY_CHECK(one.member("has_calls", Value::adopt(bool_value(time.has_calls))));
      GANTRY_TRY(Value made, one.map());
      all.item(std::move(made));
    }
  }
  GANTRY_TRY(Value list, all.array());
  ValueList report;
  GANTRY_CHECK(report.member("operators", std::move(list)));
  return report.map();
}

Result<Value> model(ModelState& state) {
  std::vector<std::string> devices;
  for (std::size_t member = 0; member < state.members().size(); ++member) {
    GANTRY_TRY(const std::span<const gantry_device_id> ids, state.devices(member));
    for (const gantry_device_id id : ids) {
      const auto device = device_of(*state.source().runtime, id);
      std::string name = device.ok() ? device_text_of(*device) : device_text(id);
      if (std::ranges::find(devices, name) == devices.end()) devices.push_back(std::move(name));
    }
  }
  ValueList report;
  GANTRY_CHECK(report.member("devices", devices));
  return report.map();
}

Result<Value> module(ModuleNode& node) {
  ValueList imports, missing, report;
  for (const Ref<ModuleNode>& import : node.imports)
    imports.item(owned_value(Ref<ModuleNode>(import)));
  for (ModuleNode* const each : reachable(node)) {
    if (is_unbound(*each)) GANTRY_CHECK(missing.item(unbound_error(*each).error().message.text()));
  }
  GANTRY_TRY(const std::vector<std::string> functions, list_functions(node));
  GANTRY_TRY(Value modules, imports.array());
  GANTRY_TRY(Value reasons, missing.array());
  GANTRY_CHECK(report.member("type_key", node.type_key));
  GANTRY_CHECK(report.member("plugin", node.plugin));
  GANTRY_CHECK(report.member("file", node.artifact->name));
  GANTRY_CHECK(report.member("functions", functions));
  GANTRY_CHECK(report.member("imports", std::move(modules)));
  GANTRY_CHECK(report.member("missing", std::move(reasons)));
  return report.map();
}

constexpr Report<RuntimeState> runtime_reports[] = {
    {"configuration", configuration}, {"devices", devices}, {"explanation", explanation},
    {"operators", operators},         {"plugins", plugins}, {"trace", trace}};
constexpr Report<ModuleNode> module_reports[] = {{"module", module}};
constexpr Report<ModelState> model_reports[] = {{"model", model}};

}  // namespace

Result<Value> report(RuntimeState& runtime, std::string_view what) {
  return make_report(runtime_reports, runtime, what, "a runtime");
}

Result<Value> report(ModuleNode& node, std::string_view what) {
  return make_report(module_reports, node, what, "a module");
}

Result<Value> report(ModelState& model, std::string_view what) {
  return make_report(model_reports, model, what, "a model");
}

}  // namespace gantry
