// SPDX-License-Identifier: Apache-2.0
#include "factory.hpp"

#include "functions.hpp"

#include <gantry/abi_boundary.hpp>

namespace gantry::graph {
namespace {

struct Factory {
  Source source;
};

using Body = Result<Value> (*)(const Source&, const Call&);

enum class Kind : std::uint8_t { plain, debug, capturing };

Result<Value> create_executor(const Source& source, const Call& call, std::size_t first_device,
                              Kind kind) {
  std::vector<gantry_device_id> devices;
  for (std::size_t i = first_device; i < call.args.size(); ++i) {
    if (call.args[i].kind != GANTRY_DEVICE) return call.wrong(i, "a device");
    devices.push_back(call.args[i].device);
  }
  if (devices.empty()) return call.refuse("no device is given");
  GANTRY_TRY(std::unique_ptr<Executor> executor, Executor::create(source, devices, call.env));
  if (kind == Kind::capturing) {
    Status captures = executor->capture_runs();
    if (!captures.ok()) {
      return std::move(captures).error().at("in cuda_graph_create; ",
                                            quoted(source.payload->module_name),
                                            " runs the same model without recording");
    }
  }
  return new_executor_module(std::move(executor), source.node, kind == Kind::debug);
}

Result<Value> create(const Source& source, const Call& call) {
  return create_executor(source, call, 0, Kind::plain);
}

Result<Value> debug_create(const Source& source, const Call& call) {
  if (call.args.empty()) return call.refuse("argument count is 0");
  GANTRY_TRY(const std::string_view name, call.text(0));
  if (name != source.payload->module_name) {
    return not_found("no module is called ", quoted(name), ", the only one is ",
                     quoted(source.payload->module_name))
        .with_reason("MODULE");
  }
  return create_executor(source, call, 1, Kind::debug);
}

Result<Value> cuda_graph_create(const Source& source, const Call& call) {
  return create_executor(source, call, 0, Kind::capturing);
}

Result<Value> get_graph_json(const Source& source, const Call& call) {
  GANTRY_CHECK(call.count_is(0, 0));
  return source.host.text(source.payload->graph_json);
}

// Copies, which are the caller's to change: where they lie in the file nobody may write.
Result<Value> get_graph_params(const Source& source, const Call& call) {
  GANTRY_CHECK(call.count_is(0, 0));
  std::vector<Host::Entry> entries;
  if (source.with_parameters) {
    for (const Parameter& parameter : source.payload->parameters) {
      const gantry_tensor view = view_of_parameter(parameter);
      GANTRY_TRY(Value name, source.host.text(parameter.name));
      GANTRY_TRY(Value copy, source.host.tensor_new(view));
      GANTRY_CHECK(source.host.tensor_copy(view, *copy.tensor(), call.env));
      entries.emplace_back(std::move(name), std::move(copy));
    }
  }
  return source.host.map(entries);
}

Result<Value> remove_params(const Source& source, const Call& call);

constexpr char create_usage[] = "default(device, ...)";
constexpr char debug_create_usage[] = "debug_create(module name, device, ...)";
constexpr char cuda_graph_create_usage[] = "cuda_graph_create(device, ...)";
constexpr char remove_params_usage[] = "remove_params()";
constexpr char get_graph_json_usage[] = "get_graph_json()";
constexpr char get_graph_params_usage[] = "get_graph_params()";

template <Body body, const char* usage>
gantry_code call_body(void* self, const gantry_env* env, const gantry_value* args,
                      std::int32_t count, gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const Call call{usage, env, std::span(args, static_cast<std::size_t>(count < 0 ? 0 : count))};
    GANTRY_TRY(Value value, body(static_cast<Factory*>(self)->source, call));
    *result = value.take();
    return {};
  });
}

template <Body body, const char* usage>
constexpr gantry_function_table table_of = {sizeof(gantry_function_table), 0, nullptr,
                                            call_body<body, usage>};

// The first one goes by the module's own name.
constexpr const char* usages[] = {
    create_usage,        debug_create_usage,   cuda_graph_create_usage,
    remove_params_usage, get_graph_json_usage, get_graph_params_usage};
constexpr const gantry_function_table* tables[] = {
    &table_of<create, create_usage>,
    &table_of<debug_create, debug_create_usage>,
    &table_of<cuda_graph_create, cuda_graph_create_usage>,
    &table_of<remove_params, remove_params_usage>,
    &table_of<get_graph_json, get_graph_json_usage>,
    &table_of<get_graph_params, get_graph_params_usage>,
};

std::string_view name_of_function(const Factory& factory, std::size_t i) {
  const std::string_view usage = usages[i];
  return i == 0 ? factory.source.payload->module_name : usage.substr(0, usage.find('('));
}

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out, gantry_status*) {
  for (std::size_t i = 0; i < std::size(tables); ++i) {
    if (name_of_function(*static_cast<Factory*>(self), i) != view_of(name)) continue;
    *out = {self, tables[i]};
    return GANTRY_OK;
  }
  return GANTRY_NOT_FOUND;
}

gantry_code list_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  for (std::size_t i = 0; i < std::size(tables); ++i) {
    const gantry_function_info info{sizeof info, 0,
                                    bytes_of(name_of_function(*static_cast<Factory*>(self), i)),
                                    gantry_text(usages[i])};
    if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
  }
  return GANTRY_OK;
}

gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const Source& source = static_cast<Factory*>(self)->source;
    const std::span<const Parameter> parameters(source.payload->parameters);
    write_payload(*source.payload, source.with_parameters ? parameters : parameters.first(0),
                  *sink);
    return {};
  });
}

void destroy(void* self) { delete static_cast<Factory*>(self); }

constexpr gantry_module_table factory_table = {sizeof(gantry_module_table),
                                               0,
                                               "GraphExecutorFactory",
                                               destroy,
                                               get_function,
                                               list_functions,
                                               save_binary};

// Shares the payload and, through the parent, the imports.
Result<Value> remove_params(const Source& source, const Call& call) {
  GANTRY_CHECK(call.count_is(0, 0));
  auto factory = std::make_unique<Factory>(Factory{source});
  factory->source.with_parameters = false;
  GANTRY_TRY(Value made, source.host.module_new(source.node, {factory.get(), &factory_table}));
  // The host owns it now.
  (void)factory.release();
  return made;
}

gantry_code load_binary(void* plugin, const gantry_blob* blob, gantry_object* self_module,
                        gantry_module* module, std::uint64_t* consumed, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const Host host(static_cast<const gantry_host*>(plugin));
    std::uint64_t size = 0;
    GANTRY_TRY(auto payload, read_payload(*blob, &size));
    *module = {new Factory{{host, self_module, std::move(payload), true}}, &factory_table};
    *consumed = size;
    return {};
  });
}

}  // namespace

const gantry_loader_table factory_loader = {sizeof(gantry_loader_table),
                                            GANTRY_LOADER_PARALLEL,
                                            "GraphExecutorFactory",
                                            nullptr,
                                            load_binary,
                                            nullptr};

}  // namespace gantry::graph
