// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/signatures.hpp"

#include "core/formats/annotation.hpp"
#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/parameter_info.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>

#include <map>
#include <string_view>
#include <utility>

namespace gantry {
namespace {

StatedTensor tensor_of(std::size_t module, std::string name, gantry_dtype dtype,
                       const std::vector<std::int64_t>& shape, std::int64_t device_number) {
  StatedTensor tensor;
  tensor.module = module;
  tensor.name = std::move(name);
  tensor.type = TensorType{dtype, shape};
  tensor.text = type_text(dtype, shape);
  tensor.device_number = device_number;
  return tensor;
}

void add_graph(std::size_t module, const ModelSignature& graph, StatedSignature& out) {
  for (const SignatureTensor& each : graph.inputs)
    out.inputs.push_back(tensor_of(module, each.name, each.dtype, each.shape, each.device_number));
  for (const SignatureTensor& each : graph.outputs)
    out.outputs.push_back(tensor_of(module, each.name, each.dtype, each.shape, each.device_number));
}

void add_compiled(std::size_t module, const AotMetadata& metadata, StatedSignature& out) {
  for (const AotTensor& each : metadata.inputs)
    out.inputs.push_back(tensor_of(module, std::string(each.name), each.dtype, each.shape, -1));
  for (std::size_t i = 0; i < metadata.outputs.size(); ++i) {
    const AotTensor& each = metadata.outputs[i];
    out.outputs.push_back(tensor_of(module,
                                    compiled_output_name(each.name, i, metadata.outputs.size()),
                                    each.dtype, each.shape, -1));
  }
}

// annotation  empty: the code states none
StatedTensor annotated(std::size_t module, std::string_view function, std::string name,
                       std::string_view annotation) {
  StatedTensor tensor;
  tensor.module = module;
  tensor.function = first_characters(function, max_function_characters);
  tensor.name = std::move(name);
  tensor.text = annotation;
  if (auto known = tensor_annotation(annotation)) {
    tensor.type = std::move(known->type);
    tensor.extents = std::move(known->extents);
    tensor.text = std::move(known->text);
  }
  return tensor;
}

// Functions of other modules, which the code of Relax lists among its own, have kind 0.
bool is_other_module(const Detail& function) {
  const Detail* const kind = function.find("kind");
  return kind != nullptr && kind->value == "0";
}

void add_function(std::size_t module, const Detail& function, StatedSignature& out) {
  const Detail* const params = function.find("params");
  const Detail* const annotations = function.find("annotations");
  std::map<std::string_view, std::string_view> types;
  if (annotations != nullptr) {
    for (const Detail& each : annotations->children) types.emplace(each.name, each.value);
  }
  if (params != nullptr) {
    for (const Detail& param : params->children) {
      const auto type = types.find(param.value);
      out.inputs.push_back(annotated(module, function.name, param.value,
                                     type != types.end() ? type->second : std::string_view()));
    }
  }
  const Detail* const returns = function.find("returns");
  if (returns == nullptr) return;
  // See shown_annotation().
  const bool is_cut = returns->value.ends_with("...");
  const std::vector<std::string_view> results =
      is_cut ? std::vector<std::string_view>{returns->value} : flat_annotations(returns->value);
  for (std::size_t i = 0; i < results.size(); ++i) {
    out.outputs.push_back(
        annotated(module, function.name, output_name(i, results.size()), results[i]));
  }
}

}  // namespace

std::string device_text(const StatedTensor& tensor) {
  if (tensor.device_number < 0) return {};
  const std::string_view name = dlpack_name(static_cast<std::int32_t>(tensor.device_number));
  return name.empty() ? concat("device ", tensor.device_number) : std::string(name);
}

StatedSignature signature_of(const InspectReport& report, WarningList& warnings) {
  StatedSignature out;
  const std::vector<Entry>& entries = report.container.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (is_virtual_machine(entry.type_key)) {
      // Warnings of the payload's details are reported with the module.
      WarningList ignored;
      const Detail details = details_of(report, i, ignored);
      const Detail* const functions = details.find("functions");
      if (functions == nullptr) continue;
      for (const Detail& function : functions->children) {
        if (!is_other_module(function)) add_function(i, function, out);
      }
      continue;
    }
    if (entry.type_key == aot_factory_key) {
      if (report.aot && report.aot->metadata) add_compiled(i, *report.aot->metadata, out);
      continue;
    }
    const auto graph = read_signature(entry);
    if (!graph.ok()) {
      warnings.add(Message(quoted(entry.type_key), " graph: ", graph.error().message));
    } else if (*graph) {
      add_graph(i, **graph, out);
    }
  }
  return out;
}

}  // namespace gantry
