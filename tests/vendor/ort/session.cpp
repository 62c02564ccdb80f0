// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <gantry/tensor.h>
#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <string>
#include <utility>

namespace ort {
namespace {

using gantry::ParameterInfo, gantry::Result, gantry::Status;

// ONNX's numbers of element types. Texts and complex numbers have none here.
struct ElementType {
  int number;
  gantry_dtype dtype;
};
constexpr ElementType element_types[] = {
    {1, {2, 32, 1}},  {2, {1, 8, 1}},   {3, {0, 8, 1}},   {4, {1, 16, 1}},  {5, {0, 16, 1}},
    {6, {0, 32, 1}},  {7, {0, 64, 1}},  {9, {6, 8, 1}},   {10, {2, 16, 1}}, {11, {2, 64, 1}},
    {12, {1, 32, 1}}, {13, {1, 64, 1}}, {16, {4, 16, 1}},
};

Result<gantry_dtype> dtype_of(int number) {
  for (const ElementType& type : element_types)
    if (type.number == number) return type.dtype;
  return gantry::unsupported("element type ", number, " of ONNX has no dtype").with_reason("DTYPE");
}

Result<int> element_type_of(gantry_dtype dtype) {
  for (const ElementType& type : element_types)
    if (gantry::same_dtype(type.dtype, dtype)) return type.number;
  return gantry::invalid("ONNX has no element type for ", gantry::dtype_text(dtype))
      .with_reason("ARGUMENT_DTYPE");
}

// "float32[n, 4]"; an extent without a name is "?".
std::string text_of(const gantry::TensorType& type, const std::vector<std::string>& names) {
  std::string text = gantry::dtype_text(type.dtype) + "[";
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (i != 0) text += ", ";
    if (type.shape[i] >= 0) {
      text += gantry::concat(type.shape[i]);
    } else {
      text += names[i].empty() ? "?" : names[i];
    }
  }
  return text + "]";
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const Runtime& runtime, std::string_view model) {
  const Api& api = runtime.api();
  OrtSession* raw = nullptr;
  Status made = runtime.check(api.CreateSessionFromArray(runtime.environment(), model.data(),
                                                         model.size(), runtime.options(), &raw));
  if (!made.ok()) {
    // Bytes of a file: no other call makes them right.
    if (made.error().code == gantry::Code::invalid) made.error().code = gantry::Code::malformed;
    return std::move(made).error();
  }
  std::unique_ptr<Session> session(
      new Session(runtime, Owned<OrtSession>(raw, {api.ReleaseSession})));
  GANTRY_CHECK(session->describe());
  return session;
}

Status Session::describe() {
  const Api& api = runtime_.api();
  std::size_t input_count = 0, output_count = 0;
  GANTRY_CHECK(runtime_.check(api.SessionGetInputCount(session_.get(), &input_count)));
  GANTRY_CHECK(runtime_.check(api.SessionGetOutputCount(session_.get(), &output_count)));
  std::vector<ParameterInfo> inputs, outputs;
  for (std::size_t i = 0; i < input_count; ++i) {
    GANTRY_TRY(ParameterInfo info, info_of(true, i));
    inputs.push_back(std::move(info));
  }
  for (std::size_t i = 0; i < output_count; ++i) {
    GANTRY_TRY(ParameterInfo info, info_of(false, i));
    outputs.push_back(std::move(info));
  }
  signature_ = std::make_unique<const gantry::Signature>(std::move(inputs), std::move(outputs));
  for (const ParameterInfo& input : signature_->inputs())
    input_names_.push_back(input.name.c_str());
  for (const ParameterInfo& output : *signature_->outputs())
    output_names_.push_back(output.name.c_str());
  return {};
}

Result<ParameterInfo> Session::info_of(bool is_input, std::size_t index) const {
  const Api& api = runtime_.api();
  ParameterInfo info;
  info.kind = GANTRY_TENSOR;
  char* name = nullptr;
  GANTRY_CHECK(runtime_.check((is_input ? api.SessionGetInputName : api.SessionGetOutputName)(
      session_.get(), index, runtime_.allocator(), &name)));
  info.name = name;
  GANTRY_CHECK(runtime_.check(api.AllocatorFree(runtime_.allocator(), name)));

  OrtTypeInfo* raw = nullptr;
  GANTRY_CHECK(
      runtime_.check((is_input ? api.SessionGetInputTypeInfo : api.SessionGetOutputTypeInfo)(
          session_.get(), index, &raw)));
  const Owned<OrtTypeInfo> type(raw, {api.ReleaseTypeInfo});
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  GANTRY_CHECK(runtime_.check(api.CastTypeInfoToTensorInfo(type.get(), &tensor)));
  const auto title = [&] {
    return gantry::concat(is_input ? "input " : "output ", gantry::quoted(info.name),
                          " of the model");
  };
  if (tensor == nullptr) return gantry::unsupported(title(), " is no tensor").with_reason("DTYPE");
  int element = 0;
  std::size_t ndim = 0;
  GANTRY_CHECK(runtime_.check(api.GetTensorElementType(tensor, &element)));
  auto dtype = dtype_of(element);
  if (!dtype.ok()) return std::move(dtype).error().at("in ", title());
  GANTRY_CHECK(runtime_.check(api.GetDimensionsCount(tensor, &ndim)));
  info.type = gantry::TensorType{*dtype, std::vector<std::int64_t>(ndim)};
  std::vector<const char*> names(ndim, nullptr);
  GANTRY_CHECK(runtime_.check(api.GetDimensions(tensor, info.type->shape.data(), ndim)));
  GANTRY_CHECK(runtime_.check(api.GetSymbolicDimensions(tensor, names.data(), ndim)));
  for (const char* each : names) info.extents.emplace_back(each != nullptr ? each : "");
  info.type_text = text_of(*info.type, info.extents);
  return info;
}

Result<Owned<OrtValue>> Session::value_over(const gantry_tensor& tensor) const {
  GANTRY_TRY(const int element, element_type_of(tensor.dtype));
  const Api& api = runtime_.api();
  OrtValue* value = nullptr;
  // Every type above has whole bytes.
  std::size_t bytes = tensor.dtype.bits / 8u;
  for (const std::int64_t extent : gantry::shape_of(tensor))
    bytes *= static_cast<std::size_t>(extent);
  GANTRY_CHECK(runtime_.check(api.CreateTensorWithDataAsOrtValue(
      runtime_.host_memory(), static_cast<char*>(tensor.data) + tensor.byte_offset, bytes,
      tensor.shape, static_cast<std::size_t>(tensor.ndim), element, &value)));
  return Owned<OrtValue>(value, {api.ReleaseValue});
}

Result<std::vector<Owned<OrtValue>>> Session::run(
    std::span<const gantry_tensor* const> inputs,
    std::span<const gantry_tensor* const> outputs) const {
  const Api& api = runtime_.api();
  std::vector<Owned<OrtValue>> held, results;
  std::vector<const OrtValue*> passed;
  for (const gantry_tensor* input : inputs) {
    GANTRY_TRY(Owned<OrtValue> value, value_over(*input));
    passed.push_back(value.get());
    held.push_back(std::move(value));
  }
  std::vector<OrtValue*> returned(outputs.size(), nullptr);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Owned<OrtValue> value(nullptr, {api.ReleaseValue});
    if (outputs[i] != nullptr) {
      GANTRY_TRY(value, value_over(*outputs[i]));
    }
    returned[i] = value.get();
    results.push_back(std::move(value));
  }
  Status done = runtime_.check(api.Run(session_.get(), nullptr, input_names_.data(), passed.data(),
                                       passed.size(), output_names_.data(), returned.size(),
                                       returned.data()));
  for (std::size_t i = 0; i < returned.size(); ++i)
    if (results[i].get() != returned[i]) results[i].reset(returned[i]);
  GANTRY_CHECK(std::move(done));
  return results;
}

Result<gantry_tensor> Session::tensor_of(OrtValue* value, std::vector<std::int64_t>& shape) const {
  const Api& api = runtime_.api();
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  GANTRY_CHECK(runtime_.check(api.GetTensorTypeAndShape(value, &raw)));
  const Owned<OrtTensorTypeAndShapeInfo> info(raw, {api.ReleaseTensorTypeAndShapeInfo});
  int element = 0;
  std::size_t ndim = 0;
  void* data = nullptr;
  GANTRY_CHECK(runtime_.check(api.GetTensorElementType(raw, &element)));
  GANTRY_TRY(const gantry_dtype dtype, dtype_of(element));
  GANTRY_CHECK(runtime_.check(api.GetDimensionsCount(raw, &ndim)));
  shape.resize(ndim);
  GANTRY_CHECK(runtime_.check(api.GetDimensions(raw, shape.data(), ndim)));
  GANTRY_CHECK(runtime_.check(api.GetTensorMutableData(value, &data)));
  return gantry::compact_tensor(dtype, shape, {gantry::cpu_device_type, 0}, data);
}

}  // namespace ort
