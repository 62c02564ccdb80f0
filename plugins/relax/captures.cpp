// SPDX-License-Identifier: Apache-2.0
#include "captures.hpp"

#include "vm.hpp"

#include <gantry/call_streams.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>

namespace gantry::relax {
namespace {

bool is_same_tensor(const gantry_tensor& a, const gantry_tensor& b) {
  return a.data == b.data && a.byte_offset == b.byte_offset && same_device(a.device, b.device) &&
         same_dtype(a.dtype, b.dtype) && std::ranges::equal(shape_of(a), shape_of(b));
}

}  // namespace

// Marks the entry that is being recorded.
class Captures::Recorded {
 public:
  Recorded(Entry*& current, Entry& entry) : current_(current) { current = &entry; }
  ~Recorded() { current_ = nullptr; }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

 private:
  Entry*& current_;
};

Result<Value> Captures::allocation(Vm& vm, const gantry_env* env, gantry_object* function,
                                   std::int64_t entry) {
  const auto known = std::ranges::find(allocations_, entry, &std::pair<std::int64_t, Value>::first);
  if (known != allocations_.end()) return known->second;
  GANTRY_TRY(Value made, vm.invoke_closure(function, env, {}));
  return allocations_.emplace_back(entry, std::move(made)).second;
}

void Captures::reset() {
  entries_.clear();
  allocations_.clear();
  recorder_.reset();
  has_looked_for_recorder_ = false;
}

Status Captures::find_recorder(const Vm& vm) {
  if (has_looked_for_recorder_) return {};
  GANTRY_TRY(const gantry_device_id device, vm.device(0));
  if (device.type != cpu_device_type) {
    auto made = Recorder::create(host_, device);
    if (!made.ok() && made.error().code != Code::unsupported) return std::move(made).failure();
    if (made.ok()) recorder_ = std::move(*made);
  }
  has_looked_for_recorder_ = true;
  return {};
}

// True if recorded work has the same effect with both values.
Result<bool> Captures::is_same(const gantry_value& a, const gantry_value& b) const {
  const gantry_tensor* const tensor = gantry_value_tensor(&a);
  const gantry_tensor* const other = gantry_value_tensor(&b);
  if (tensor != nullptr && other != nullptr) return is_same_tensor(*tensor, *other);
  const auto shape = value_shape(a), other_shape = value_shape(b);
  if (shape && other_shape) return std::ranges::equal(*shape, *other_shape);
  if (a.kind != b.kind) return false;
  if (a.kind != GANTRY_ARRAY) return a.i == b.i;
  GANTRY_TRY(const auto items, host_.items(a.object));
  GANTRY_TRY(const auto other_items, host_.items(b.object));
  if (items.size() != other_items.size()) return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    GANTRY_TRY(const bool same, is_same(items[i], other_items[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> Captures::is_recorded(const Entry& entry, const gantry_object* function,
                                   std::span<const gantry_value> args) const {
  if (!entry.recording || entry.function.object() != function || entry.args.size() != args.size())
    return false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    GANTRY_TRY(const bool same, is_same(entry.args[i].get(), args[i]));
    if (!same) return false;
  }
  return true;
}

Result<Value> Captures::run_first(Vm& vm, const gantry_env& env, gantry_object* function,
                                  std::span<const gantry_value> args, Entry& entry) {
  const gantry_env within{recorder_->device(), recorder_->stream(), env.task, env.streams};
  GANTRY_CHECK(recorder_->wait(env.stream));
  GANTRY_TRY(Value result, vm.invoke_closure(function, &within, args));
  GANTRY_CHECK(recorder_->wait(recorder_->stream()));
  entry.is_warm = true;
  return result;
}

Status Captures::record(Vm& vm, const gantry_env& env, gantry_object* function,
                        std::span<const gantry_value> args, Entry& entry) {
  const gantry_env within{recorder_->device(), recorder_->stream(), env.task, env.streams};
  // Its memory is free for the new one.
  entry = Entry();
  entry.is_warm = true;
  Entry made;
  made.is_warm = true;
  for (const gantry_value& arg : args) {
    GANTRY_TRY(Value kept, host_.keep(arg));
    made.args.push_back(std::move(kept));
  }
  gantry_retain(function);
  gantry_value called{};
  called.kind = function->kind;
  called.object = function;
  made.function = Value::adopt(called);
  GANTRY_TRY(Capture capture, recorder_->begin());
  {
    const Recorded recorded(recorded_, made);
    GANTRY_TRY(made.result, vm.invoke_closure(function, &within, args));
  }
  GANTRY_TRY(made.recording, capture.end());
  entry = std::move(made);
  return {};
}

Captures::Entry* Captures::entry_of(const Key& key) {
  const auto known = entries_.find(key);
  if (known != entries_.end()) return &known->second;
  if (entries_.size() == max_entries) return nullptr;
  return &entries_[OwnKey{key.entry, {key.shape.begin(), key.shape.end()}}];
}

Result<Value> Captures::run(Vm& vm, const gantry_env* env, gantry_object* function,
                            std::span<const gantry_value> args, const Key& key) {
  GANTRY_CHECK(find_recorder(vm));
  if (recorder_ == nullptr || recorded_ != nullptr) return vm.invoke_closure(function, env, args);
  const CallStreams streams(env != nullptr ? *env : gantry_env{});
  const gantry_env outer = streams.on(recorder_->device());
  Entry* const entry = entry_of(key);
  if (entry == nullptr) return vm.invoke_closure(function, env, args);
  if (!entry->is_warm) return run_first(vm, outer, function, args, *entry);
  GANTRY_TRY(const bool recorded, is_recorded(*entry, function, args));
  if (!recorded) GANTRY_CHECK(record(vm, outer, function, args, *entry));
  GANTRY_CHECK(entry->recording.launch(outer.stream));
  return entry->result;
}

}  // namespace gantry::relax
