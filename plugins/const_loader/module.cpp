// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "plugin.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/quoted.hpp>
#include <gantry/zero_copy.hpp>

#include <utility>

namespace gantry::const_loader {
namespace {

gantry_tensor view_of(const Constant& constant) {
  const ArrayRecord& array = constant.array;
  return compact_tensor(array.dtype, array.shape, {cpu_device_type, 0}, array.data.data());
}

}  // namespace

Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(Payload payload, read_payload(blob));
  return std::make_unique<Module>(plugin.host, blob.node(), std::move(payload));
}

Result<ObjectRef> Module::find(std::string_view name) {
  const std::size_t index = payload_.find(name);
  if (index == payload_.symbols.size()) return ObjectRef();
  const Symbol& symbol = payload_.symbols[index];
  Status status = initializations_.once(index, [&] { return initialize(symbol); });
  if (!status.ok())
    return std::move(status).error().at("while passing its constants to ", quoted(name));
  return host_.find_optional(node_, GANTRY_FIND_IMPORTS, name);
}

std::vector<std::string_view> Module::names() const {
  std::vector<std::string_view> names;
  for (const Symbol& symbol : payload_.symbols) names.push_back(symbol.name);
  return names;
}

// An import without such a function needs no constants.
Status Module::initialize(const Symbol& symbol) {
  const std::string name = concat("__init_", symbol.name);
  GANTRY_TRY(const ObjectRef function, host_.find_optional(node_, GANTRY_FIND_IMPORTS, name));
  if (!function) return {};
  std::vector<Value> constants;
  for (const std::uint32_t constant : symbol.constants) {
    auto tensor = tensor_of(constant);
    if (!tensor.ok()) {
      return std::move(tensor).error().at("while preparing constant ",
                                          quoted(payload_.constants[constant].name));
    }
    constants.push_back(std::move(*tensor));
  }
  GANTRY_TRY(const Value array, host_.array(constants));
  // NULL: device 0 of the function's kind of device.
  GANTRY_TRY(const Value result, host_.call(function.get(), nullptr, {&array.get(), 1}));
  const auto number = value_int(result.get());
  if (number && *number == 0) return {};
  const std::string found = number ? concat(*number) : kind_text(result.kind());
  return bug(quoted(name), " returns ", found, ", expected 0").with_reason("RESULT_KIND");
}

Result<Value> Module::tensor_of(std::uint32_t index) {
  const std::lock_guard lock(tensors_mutex_);
  Value& kept = tensors_[index];
  if (kept.tensor() != nullptr) return kept;
  const gantry_tensor view = view_of(payload_.constants[index]);
  if (payload_.kept.pin && is_aligned_in_place(view.data)) {
    GANTRY_TRY(kept, host_.tensor_view(view, payload_.kept.pin.get()));
  } else {
    GANTRY_TRY(kept, host_.tensor_copied(view, {cpu_device_type, 0}, nullptr));
  }
  return kept;
}

Result<Value> Module::get_constants(const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  std::vector<Host::Entry> entries;
  for (const Constant& constant : payload_.constants) {
    GANTRY_TRY(Value name, host_.text(constant.name));
    GANTRY_TRY(Value copy, host_.tensor_copied(view_of(constant), {cpu_device_type, 0}, call.env));
    entries.emplace_back(std::move(name), std::move(copy));
  }
  return host_.map(entries);
}

}  // namespace gantry::const_loader
