// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/script/script_recorder.hpp"

#include "tools/gantry/script/script_values.hpp"

#include "core/formats/arrays/npz_write.hpp"

namespace gantry::cli {
namespace {

void copy_arrays(const ScriptValue& value, const CallScript& from, CallScript& to) {
  if (const auto* tensor = std::get_if<TensorScriptValue>(&value.content)) {
    to.arrays.emplace(tensor->key, from.arrays.at(tensor->key));
  } else if (const auto* tuple = std::get_if<TupleScriptValue>(&value.content)) {
    for (const ScriptValue& item : tuple->items) copy_arrays(item, from, to);
  }
}

}  // namespace

ScriptRecorder::ScriptRecorder(Runtime runtime, const CallScript& from)
    : runtime_(std::move(runtime)), from_(from) {
  script_.kind = from.kind;
  script_.file = from.file;
  script_.note = from.note;
  script_.params = from.params;
  for (const std::string& name : from.params) {
    const std::string key = param_key(name);
    script_.arrays.emplace(key, from.arrays.at(key));
  }
  for (const ScriptCall& call : from.calls) {
    for (const ScriptValue& arg : call.args) copy_arrays(arg, from, script_);
  }
}

Status ScriptRecorder::add(const PlayedCall& played) {
  const std::size_t index = script_.calls.size();
  const ScriptCall& from = from_.calls.at(index);
  ScriptCall call{from.function, from.is_global, from.args, {}, {}, {}, from.note};
  if (played.error) call.error = ScriptError{kind_of(*played.error), text_of(*played.error)};
  if (played.result) {
    GANTRY_TRY(call.result, recorded(runtime_, *played.result, concat("c", index, "_r"), script_));
  }
  for (std::size_t i = 0; i < played.args.size(); ++i) {
    const auto* before = std::get_if<TensorScriptValue>(&from.args[i].content);
    if (before == nullptr) continue;
    const std::string key = concat("c", index, "_o", i);
    GANTRY_TRY(ScriptValue after, recorded(runtime_, played.args[i], key, script_));
    const std::string& recorded_key = std::get<TensorScriptValue>(after.content).key;
    if (script_.arrays.at(recorded_key).bytes == script_.arrays.at(before->key).bytes) {
      script_.arrays.erase(recorded_key);
    } else {
      call.after.emplace(i, std::move(after));
    }
  }
  script_.calls.push_back(std::move(call));
  return {};
}

Status write_call_script(const CallScript& script, OutputFile& json, OutputFile& npz) {
  std::vector<NpzItem> items;
  for (const auto& [name, array] : script.arrays)
    items.push_back({name, array.dtype, array.shape, array.bytes});
  if (!items.empty()) {
    GANTRY_CHECK(write_npz(npz, items));
    GANTRY_CHECK(npz.commit());
  }
  return json.finish(call_script_text(script));
}

}  // namespace gantry::cli
