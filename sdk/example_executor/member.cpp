// SPDX-License-Identifier: Apache-2.0
#include "member.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace ensemble {
namespace {

using gantry::ParameterInfo, gantry::Result, gantry::Status, gantry::Value;

// Returns the value of a key of a map; NULL: it has none, or is no map.
const gantry_value* find(gantry::Host host, const gantry_value& map, std::string_view key) {
  if (map.kind != GANTRY_MAP) return nullptr;
  const auto items = host.items(map.object);
  for (std::size_t i = 0; items.ok() && i + 1 < items->size(); i += 2) {
    if (gantry::value_text((*items)[i]) == key) return &(*items)[i + 1];
  }
  return nullptr;
}

}  // namespace

Result<Member> Member::create(gantry::Host host, gantry_object* node, std::string_view name,
                              const gantry_env* env) {
  Member made(host, name);
  Status opened = made.open(node, env);
  if (!opened.ok()) return std::move(opened).failure().at("in member ", gantry::quoted(name));
  return made;
}

Status Member::open(gantry_object* node, const gantry_env* env) {
  GANTRY_TRY(const gantry::ObjectRef factory, host_.find(node, GANTRY_FIND_IMPORTS, name_));
  const gantry_value device[] = {gantry::device_value(cpu)};
  GANTRY_TRY(executor_, host_.call(factory.get(), env, device));
  if (executor_.kind() != GANTRY_MODULE)
    return gantry::invalid("its function returns no executor").with_reason("RESULT_KIND");
  const auto function = [&](std::string_view name) {
    return host_.find(executor_.object(), GANTRY_FIND_SELF, name);
  };
  GANTRY_TRY(set_input_, function("set_input"));
  GANTRY_TRY(run_, function("run"));
  GANTRY_TRY(get_output_, function("get_output"));
  GANTRY_TRY(inputs_, info("get_input_info", env));
  GANTRY_TRY(std::vector<ParameterInfo> outputs, info("get_output_info", env));
  if (outputs.size() != 1 || !gantry::same_dtype(outputs[0].type->dtype, gantry::dtypes::float32)) {
    return gantry::unsupported("it has ", outputs.size(), " outputs, expected one of float32")
        .with_reason("GRAPH");
  }
  output_ = std::move(outputs[0]);
  return {};
}

Result<std::vector<ParameterInfo>> Member::info(std::string_view function,
                                                const gantry_env* env) const {
  GANTRY_TRY(const gantry::ObjectRef get,
             host_.find(executor_.object(), GANTRY_FIND_SELF, function));
  GANTRY_TRY(const Value map, host_.call(get.get(), env, {}));
  const gantry_value* const shapes = find(host_, map.get(), "shape");
  const gantry_value* const dtypes = find(host_, map.get(), "dtype");
  if (shapes == nullptr || shapes->kind != GANTRY_MAP || dtypes == nullptr) {
    return gantry::invalid(function, " does not return shapes and dtypes")
        .with_reason("RESULT_KIND");
  }
  std::vector<ParameterInfo> infos;
  GANTRY_TRY(const std::span<const gantry_value> items, host_.items(shapes->object));
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto name = gantry::value_text(items[i]);
    const auto shape = gantry::value_shape(items[i + 1]);
    const gantry_value* const dtype = name ? find(host_, *dtypes, *name) : nullptr;
    const auto text = dtype != nullptr ? gantry::value_text(*dtype) : std::nullopt;
    if (!shape || !text) {
      return gantry::invalid(function, " does not return a shape and a dtype for each name")
          .with_reason("RESULT_KIND");
    }
    GANTRY_TRY(const gantry_dtype type, gantry::parse_dtype(*text));
    infos.push_back({.name = std::string(*name),
                     .type = gantry::TensorType{type, {shape->begin(), shape->end()}},
                     .type_text = gantry::type_text(type, *shape),
                     .kind = GANTRY_TENSOR});
  }
  return infos;
}

Result<Value> Member::run(const gantry_env& env, std::span<const gantry_value> inputs) {
  const auto run = [&]() -> Result<Value> {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const gantry_bytes name = gantry::bytes_of(inputs_[i].name);
      const gantry_value arguments[] = {gantry::bytes_ref_value(&name), inputs[i]};
      GANTRY_CHECK(host_.call(set_input_.get(), &env, arguments));
    }
    GANTRY_CHECK(host_.call(run_.get(), &env, {}));
    const gantry_value index[] = {gantry::int_value(0)};
    GANTRY_TRY(Value output, host_.call(get_output_.get(), &env, index));
    const gantry_tensor* const tensor = output.tensor();
    if (tensor == nullptr || !gantry::same_device(tensor->device, cpu) ||
        !gantry::has_type(tensor->dtype, gantry::shape_of(*tensor), *output_.type)) {
      return gantry::invalid("get_output returns ",
                             tensor == nullptr ? "no tensor" : gantry::tensor_text(*tensor),
                             ", expected ", output_.type_text, " in host memory")
          .with_reason("RESULT_KIND");
    }
    return output;
  };
  Result<Value> output = run();
  if (!output.ok()) return std::move(output).failure().at("in member ", gantry::quoted(name_));
  return output;
}

}  // namespace ensemble
