// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/script/script_player.hpp"

#include "tools/gantry/script/script_values.hpp"

#include "core/base/running_code.hpp"

#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

namespace gantry::cli {
namespace {

// Why a reference has no value: the call that it names has no result, or the result no such item.
Failure no_value(const RefScriptValue& ref, std::string_view why) {
  return invalid("the result of call ", ref.call, " ", why).with_reason("CALL_SCRIPT");
}

}  // namespace

std::string kind_of(const Error& error) {
  const auto what = raised(error);
  return what ? std::string(what->kind) : "RuntimeError";
}

std::string text_of(const Error& error) {
  const auto what = raised(error);
  return what ? std::string(what->text) : error.message.text();
}

// Creates one argument.
struct ScriptPlayer::MakeArgument {
  ScriptPlayer& player;

  Result<Any> operator()(NoneScriptValue) const { return Any(); }
  Result<Any> operator()(std::int64_t number) const { return Any(Value::adopt(int_value(number))); }
  Result<Any> operator()(double number) const { return Any(Value::adopt(float_value(number))); }
  Result<Any> operator()(bool truth) const { return Any(Value::adopt(bool_value(truth))); }
  Result<Any> operator()(const std::string& text) const { return player.runtime_.text(text); }
  Result<Any> operator()(const DirectoryScriptValue& directory) const {
    return player.runtime_.text((player.script_.path.parent_path() / directory.name).string());
  }
  Result<Any> operator()(const ShapeScriptValue& shape) const {
    return player.runtime_.shape(shape.extents);
  }
  Result<Any> operator()(const TensorScriptValue& tensor) const {
    GANTRY_TRY(const Tensor made, tensor_of(player.runtime_, player.script_.arrays.at(tensor.key),
                                            tensor.dtype, player.device_));
    return Any(made);
  }
  Result<Any> operator()(const TupleScriptValue& tuple) const {
    std::vector<Any> items;
    for (const ScriptValue& item : tuple.items) {
      GANTRY_TRY(items.emplace_back(), std::visit(*this, item.content));
    }
    return player.runtime_.array(items);
  }
  Result<Any> operator()(const RefScriptValue& ref) const {
    const PlayedCall& earlier = player.played_.at(ref.call);
    if (!earlier.result) return no_value(ref, "is not there");
    Any value = *earlier.result;
    for (const std::size_t index : ref.path) {
      const auto items = value.items();
      if (!items.ok() || index >= items->size())
        return no_value(ref, concat("has no item ", index));
      value = (*items)[index];
    }
    return value;
  }
  Result<Any> operator()(ParamsScriptValue) const { return player.params(); }
  // Results only; parse_call_script() accepts them in no argument.
  Result<Any> operator()(const ObjectScriptValue&) const { return Any(); }
  Result<Any> operator()(AnyScriptValue) const { return Any(); }
};

Result<ScriptPlayer> ScriptPlayer::create(Runtime runtime, const Module& model,
                                          const CallScript& script,
                                          std::span<const std::string> devices) {
  if (script.kind == CallScript::Kind::tir)
    return ScriptPlayer(std::move(runtime), model, script, devices.front());
  const auto load = model.function("vm_load_executable");
  if (!load.ok()) {
    GANTRY_TRY(const std::vector<std::string> missing, model.missing());
    if (load.error().code != Code::not_found || !missing.empty()) return load.error();
    GANTRY_TRY(const std::string key, model.type_key());
    return unsupported("call script: its kind is \"relax\", and ", key, " has no virtual machine")
        .with_reason("CALL_SCRIPT");
  }
  GANTRY_TRY(const Model own, runtime.model(model, devices));
  GANTRY_TRY(Module machine, own.module());
  return ScriptPlayer(std::move(runtime), std::move(machine), script, devices.front());
}

Result<Any> ScriptPlayer::params() {
  if (params_) return *params_;
  std::vector<Any> items;
  for (const std::string& name : script_.params) {
    const ScriptArray& array = script_.arrays.at(param_key(name));
    GANTRY_TRY(const Tensor made, tensor_of(runtime_, array, array.dtype, device_));
    items.push_back(Any(made));
  }
  GANTRY_TRY(params_, runtime_.array(items));
  return *params_;
}

Result<Function> ScriptPlayer::function_of(const ScriptCall& call) const {
  return call.is_global ? runtime_.function(call.function) : callee_.function(call.function);
}

Status ScriptPlayer::call(const ScriptCall& call, PlayedCall& played) {
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    auto made = std::visit(MakeArgument{*this}, call.args[i].content);
    if (!made.ok() && made.error().reason == "CALL_SCRIPT") {
      played.args.clear();
      played.differences.push_back(
          concat("argument ", i, ": ", made.error().message, "; the call is not made"));
      return {};
    }
    if (!made.ok()) return std::move(made).failure().at("while making argument ", i);
    played.args.push_back(std::move(*made));
  }
  const auto function = function_of(call);
  if (!function.ok()) {
    played.error = function.error();
    return {};
  }
  std::vector<gantry_value> values;
  for (const Any& arg : played.args) values.push_back(arg.value());
  const std::string title = concat("function ", quoted(call.function));
  const CallRecord record(title);
  gantry_env env{};
  if (task_) {
    GANTRY_TRY(const gantry_device_id device, runtime_.device(device_));
    env = task_.env(device);
  }
  auto returned = function->call(values, task_ ? &env : nullptr);
  if (returned.ok()) {
    played.result = std::move(*returned);
  } else {
    played.error = returned.error();
  }
  return {};
}

Status ScriptPlayer::compare(const ScriptCall& call, Tolerance tolerance,
                             PlayedCall& played) const {
  std::vector<std::string>& all = played.differences;
  const auto expected_error = [&] {
    const ScriptError& error = *call.error;
    return error.kind.empty() ? std::string("an error") : concat(error.kind, ": ", error.message);
  };
  if (played.error && call.result) {
    all.push_back(concat("fails with ", kind_of(*played.error), ": ", text_of(*played.error),
                         ", expected a result"));
  } else if (played.result && call.error) {
    all.push_back(concat("returns, expected ", expected_error()));
  } else if (played.error && call.error && !call.error->kind.empty()) {
    // Texts of compiled code equal those that were recorded. The texts of checks of a virtual
    // machine and its builtins are those of gantry.
    const bool has_text = played.error->reason != "HOST_CODE" ||
                          text_of(*played.error).starts_with(call.error->message);
    if (kind_of(*played.error) != call.error->kind || !has_text) {
      all.push_back(concat("fails with ", kind_of(*played.error), ": ", text_of(*played.error),
                           ", expected ", expected_error()));
    }
  }
  const auto add = [&](const Any& found, const ScriptValue& expected,
                       const std::string& name) -> Status {
    GANTRY_TRY(std::vector<std::string> more,
               differences(runtime_, found, expected, script_, tolerance, name));
    all.insert(all.end(), more.begin(), more.end());
    return {};
  };
  if (played.result && call.result) GANTRY_CHECK(add(*played.result, *call.result, "result"));
  for (const auto& [index, expected] : call.after) {
    if (index < played.args.size())
      GANTRY_CHECK(add(played.args[index], expected, concat("argument ", index)));
  }
  return {};
}

Result<const PlayedCall*> ScriptPlayer::play(std::size_t index, Tolerance tolerance) {
  const ScriptCall& call = script_.calls.at(index);
  PlayedCall played;
  Status done = this->call(call, played);
  if (done.ok()) done = compare(call, tolerance, played);
  if (!done.ok())
    return std::move(done).error().at("in call ", index, " of ", quoted(call.function));
  played_.push_back(std::move(played));
  return &played_.back();
}

}  // namespace gantry::cli
