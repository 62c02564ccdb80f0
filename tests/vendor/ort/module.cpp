// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "plugin.hpp"

#include <gantry/opaque.hpp>
#include <gantry/progress.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace ort {
namespace {

using gantry::Result, gantry::Status, gantry::Value;

constexpr gantry_device_id cpu{gantry::cpu_device_type, 0};

// Memory of the library that a tensor of gantry views.
struct Output {
  static constexpr const char* type_name = "acme.onnxruntime.Output";
  Owned<OrtValue> value;
};

Result<Value> tensor_over(gantry::Host host, const Session& session, Owned<OrtValue> value) {
  std::vector<std::int64_t> shape;
  GANTRY_TRY(const gantry_tensor tensor, session.tensor_of(value.get(), shape));
  GANTRY_TRY(const Value owner,
             gantry::new_opaque(host, std::make_unique<Output>(std::move(value))));
  return host.tensor_view(tensor, owner.object());
}

}  // namespace

// The library's kernels require of memory what their elements do.
Executor::Executor(gantry::Host host, const Session& session) : host_(host), session_(session) {
  const auto placed = [](const gantry::ParameterInfo& info) {
    return gantry_placement{cpu, info.type->dtype.bits / 8u, 0, nullptr};
  };
  for (const auto& input : session.signature().inputs())
    placements_.inputs.push_back(placed(input));
  for (const auto& output : *session.signature().outputs())
    placements_.outputs.push_back(placed(output));
}

Status Executor::run(const gantry_env& env, gantry::ExecutorRun& run) {
  GANTRY_CHECK(host_.check_task(&env));
  std::vector<const gantry_tensor*> inputs, targets;
  for (const gantry_value& input : run.inputs()) inputs.push_back(gantry_value_tensor(&input));
  for (std::uint32_t i = 0; i < run.output_count(); ++i) targets.push_back(run.target(i));
  GANTRY_TRY(auto values, session_.run(inputs, targets));
  // Passed when all exist: after a failure, nothing has changed.
  std::vector<Value> outputs(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (targets[i] != nullptr) continue;
    GANTRY_TRY(outputs[i], tensor_over(host_, session_, std::move(values[i])));
  }
  for (std::uint32_t i = 0; i < run.output_count(); ++i)
    if (targets[i] == nullptr) run.set_output(i, std::move(outputs[i]));
  return {};
}

Result<Value> Function::call(const gantry::Call& call) const {
  GANTRY_TRY(const Session* const session, module->session());
  const std::size_t input_count = session->signature().inputs().size();
  const std::size_t output_count = session->signature().outputs()->size();
  const bool is_filled = call.args.size() == input_count + output_count;
  if (!is_filled) GANTRY_CHECK(call.count_is(input_count, input_count + output_count));
  if (!is_filled && call.args.size() != input_count) {
    return call
        .refuse("argument count is ", call.args.size(), ", expected ", input_count,
                " inputs, or also ", output_count, " outputs")
        .with_reason("ARGUMENT_COUNT");
  }
  std::vector<const gantry_tensor*> inputs, outputs(output_count, nullptr);
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i, {.has_offset = true}));
    i < input_count ? inputs.push_back(tensor) : void(outputs[i - input_count] = tensor);
  }
  GANTRY_TRY(auto values, session->run(inputs, outputs));
  if (is_filled) return Value();
  std::vector<Value> results;
  for (Owned<OrtValue>& value : values) {
    GANTRY_TRY(Value result, tensor_over(module->host(), *session, std::move(value)));
    results.push_back(std::move(result));
  }
  if (results.size() == 1) return std::move(results.front());
  return module->host().array(results);
}

gantry::Host Module::host() const { return plugin_.host(); }

// The library reads the model when it is needed.
Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, gantry::Blob& blob) {
  std::unique_ptr<Module> made(new Module(plugin));
  GANTRY_TRY(made->name_, blob.reader().read_string("function"));
  if (made->name_.empty())
    return gantry::malformed(0, "name of the function is empty").with_reason("BLOB_FORMAT");
  GANTRY_TRY(made->model_, blob.reader().read_string("model"));
  made->origin_ = blob.origin();
  made->kept_ = blob.keep();
  made->info_.functions = {std::string(made->name_)};
  made->info_.default_function = 0;
  made->info_.device_types = {gantry::cpu_device_type};
  made->info_.prepare();
  return made;
}

Result<const Session*> Module::session() {
  const std::lock_guard once(mutex_);
  if (session_ == nullptr) {
    GANTRY_TRY(const Runtime* const runtime, plugin_.runtime());
    const gantry::AnnouncedWork work(host(), "preparing an ONNX model");
    auto created = Session::create(*runtime, model_);
    if (!created.ok()) return std::move(created).error().at("in the ONNX model of ", origin_);
    session_ = std::move(created).value();
  }
  return session_.get();
}

Status Module::prepare(const gantry_env& env, std::span<const gantry_device_id>) {
  GANTRY_CHECK(host().check_task(&env));
  GANTRY_CHECK(session());
  return {};
}

Result<const gantry::Signature*> Module::signature(std::uint32_t) {
  GANTRY_TRY(const Session* const opened, session());
  return &opened->signature();
}

Result<std::unique_ptr<Executor>> Module::executor_new(const gantry_env& env,
                                                       const gantry::ExecutorOptions& options) {
  if (options.capture)
    return gantry::unsupported("an ONNX model cannot be recorded").with_reason("CAPTURE");
  GANTRY_CHECK(host().check_task(&env));
  GANTRY_TRY(const Session* const opened, session());
  return std::make_unique<Executor>(host(), *opened);
}

}  // namespace ort
