// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/script/script_values.hpp"

#include "tools/gantry/common/element_value.hpp"

#include "core/engine/tensor/tensor.hpp"
#include "core/formats/model_signature.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cmath>

namespace gantry::cli {
namespace {

Tensor handle_of(const Ref<TensorObject>& object) {
  return Tensor(ObjectRef::share(object.base()));
}

// The same tensor with the strides of its shape: compiled code compares each with the product of the extents after it, also
// where one of them is 0.
Result<Tensor> with_strides(const Tensor& tensor) {
  gantry_tensor view = *tensor.dlpack();
  std::vector<std::int64_t> strides(tensor.shape().size());
  // Of a tensor without elements the product may exceed 63 bits, as it does in compiled code.
  std::uint64_t stride = 1;
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(view.shape[axis]);
  }
  // Not NULL for a tensor without axes, too.
  strides.reserve(1);
  view.strides = strides.data();
  GANTRY_TRY(Ref<TensorObject> made, tensor_view(view, tensor.get()));
  return handle_of(std::move(made));
}

// A tensor in CPU memory as an array.
struct CpuCopy {
  Tensor tensor;
  ArrayView view;
};

Result<CpuCopy> host_copy(const Runtime& runtime, const Any& value, const std::string& name) {
  GANTRY_TRY(const Tensor tensor, value.tensor());
  CpuCopy copy;
  GANTRY_TRY(copy.tensor, runtime.tensor(tensor.shape(), tensor.dtype()));
  GANTRY_CHECK(runtime.copy(tensor, copy.tensor));
  const auto shape = copy.tensor.shape();
  copy.view = {name,
               copy.tensor.dtype(),
               {shape.begin(), shape.end()},
               {static_cast<const std::uint8_t*>(copy.tensor.data()), copy.tensor.byte_size()}};
  return copy;
}

// A value without the elements of its tensors.
std::string described(const Any& value) {
  switch (value.value().kind) {
    case GANTRY_INT:
      return concat(value.value().i);
    case GANTRY_BOOL:
      return value.value().i != 0 ? "true" : "false";
    case GANTRY_FLOAT:
      return concat("float ", value.value().f);
    case GANTRY_SHAPE:
      return concat("shape [", join(*value_shape(value.value())), "]");
    case GANTRY_TENSOR:
      return describe(*value.tensor()->dlpack(), DeviceSet());
    case GANTRY_ARRAY: {
      const auto items = value.items();
      return concat("a tuple of ", items.ok() ? items->size() : 0);
    }
    default:
      break;
  }
  const auto text = value.text();
  return text.ok() ? quoted(*text) : kind_text(value.value().kind);
}

// Compares one value; collects the differences.
struct Compare {
  const Runtime& runtime;
  const Any& found;
  const CallScript& script;
  Tolerance tolerance;
  const std::string& name;
  std::vector<std::string>& all;

  std::int32_t kind() const { return found.value().kind; }
  Status differs(std::string_view expected) const {
    all.push_back(concat(quoted(name), " is ", described(found), ", expected ", expected));
    return {};
  }

  Status operator()(AnyScriptValue) const { return {}; }
  Status operator()(NoneScriptValue) const { return found.is_none() ? Status() : differs("none"); }
  Status operator()(const ObjectScriptValue& object) const {
    // Other runtimes have bytes of any size as an object.
    if (kind() >= GANTRY_OBJECT || kind() == GANTRY_SMALL_BYTES) return {};
    return differs(object.type.empty() ? "an object" : concat("an object ", quoted(object.type)));
  }
  Status operator()(std::int64_t expected) const {
    if (kind() == GANTRY_INT && found.value().i == expected) return {};
    return differs(concat(expected));
  }
  Status operator()(bool expected) const {
    if (kind() == GANTRY_BOOL && (found.value().i != 0) == expected) return {};
    return differs(expected ? "true" : "false");
  }
  Status operator()(double expected) const {
    if (kind() == GANTRY_FLOAT) {
      const double apart = std::fabs(found.value().f - expected);
      const bool is_same =
          found.value().f == expected || (std::isnan(found.value().f) && std::isnan(expected));
      if (is_same || (std::isfinite(expected) &&
                      apart <= tolerance.atol + tolerance.rtol * std::fabs(expected)))
        return {};
    }
    return differs(concat("float ", expected));
  }
  Status operator()(const std::string& expected) const {
    const auto text = found.text();
    return text.ok() && *text == expected ? Status() : differs(quoted(expected));
  }
  Status operator()(const ShapeScriptValue& expected) const {
    const auto shape = value_shape(found.value());
    if (shape && std::ranges::equal(*shape, expected.extents)) return {};
    return differs(concat("shape [", join(expected.extents), "]"));
  }
  Status operator()(const TensorScriptValue& expected) const {
    if (kind() != GANTRY_TENSOR) return differs(type_text(expected.dtype, expected.shape));
    GANTRY_TRY(const CpuCopy copy, host_copy(runtime, found, name));
    const ScriptArray& array = script.arrays.at(expected.key);
    const auto code = static_cast<TypeCode>(expected.dtype.code);
    const bool is_approximate = (code == TypeCode::float_ || code == TypeCode::bfloat) &&
                                element_reader(expected.dtype).has_value();
    const Status compared =
        compare(copy.view, {expected.key, expected.dtype, expected.shape, array.bytes},
                is_approximate ? tolerance : Tolerance());
    if (!compared.ok()) all.push_back(compared.error().message);
    return {};
  }
  Status operator()(const TupleScriptValue& expected) const {
    if (kind() != GANTRY_ARRAY) return differs(concat("a tuple of ", expected.items.size()));
    GANTRY_TRY(const std::vector<Any> items, found.items());
    if (items.size() != expected.items.size())
      return differs(concat("a tuple of ", expected.items.size()));
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string item = concat(name, "[", i, "]");
      GANTRY_CHECK(std::visit(Compare{runtime, items[i], script, tolerance, item, all},
                              expected.items[i].content));
    }
    return {};
  }
  // Arguments only; parse_call_script() accepts them in no result.
  Status operator()(const DirectoryScriptValue&) const { return differs("no directory"); }
  Status operator()(const RefScriptValue&) const { return differs("no reference"); }
  Status operator()(ParamsScriptValue) const { return differs("no parameters"); }
};

}  // namespace

Result<Tensor> tensor_of(const Runtime& runtime, const ScriptArray& array, gantry_dtype dtype,
                         const std::string& device) {
  GANTRY_TRY(Tensor made, runtime.tensor(array.shape, dtype));
  std::copy(array.bytes.begin(), array.bytes.end(), static_cast<std::uint8_t*>(made.data()));
  if (device != "cpu") {
    GANTRY_TRY(Tensor copy, runtime.tensor(array.shape, dtype, device));
    GANTRY_CHECK(runtime.copy(made, copy));
    made = std::move(copy);
  }
  return with_strides(made);
}

Result<std::vector<std::string>> differences(const Runtime& runtime, const Any& found,
                                             const ScriptValue& expected, const CallScript& script,
                                             Tolerance tolerance, const std::string& name) {
  std::vector<std::string> all;
  GANTRY_CHECK(std::visit(Compare{runtime, found, script, tolerance, name, all}, expected.content));
  return all;
}

Result<ScriptValue> recorded(const Runtime& runtime, const Any& value, const std::string& key,
                             CallScript& script) {
  const gantry_value& raw = value.value();
  switch (raw.kind) {
    case GANTRY_NONE:
      return ScriptValue{NoneScriptValue{}};
    case GANTRY_INT:
      return ScriptValue{raw.i};
    case GANTRY_BOOL:
      return ScriptValue{raw.i != 0};
    case GANTRY_FLOAT:
      return ScriptValue{raw.f};
    case GANTRY_SMALL_STRING:
    case GANTRY_STRING: {
      GANTRY_TRY(std::string text, value.text());
      return ScriptValue{std::move(text)};
    }
    case GANTRY_SHAPE: {
      GANTRY_TRY(auto extents, value.shape());
      return ScriptValue{ShapeScriptValue{std::move(extents)}};
    }
    case GANTRY_TENSOR: {
      GANTRY_TRY(const CpuCopy copy, host_copy(runtime, value, key));
      const ArrayView& view = copy.view;
      std::string free = key;
      while (script.arrays.contains(free)) free += "_";
      script.arrays[free] = {
          stored_dtype(view.dtype), view.shape, {view.bytes.begin(), view.bytes.end()}};
      return ScriptValue{TensorScriptValue{std::move(free), view.dtype, view.shape}};
    }
    case GANTRY_ARRAY: {
      GANTRY_TRY(const std::vector<Any> items, value.items());
      TupleScriptValue tuple;
      for (std::size_t i = 0; i < items.size(); ++i) {
        GANTRY_TRY(ScriptValue item, recorded(runtime, items[i], concat(key, "_", i), script));
        tuple.items.push_back(std::move(item));
      }
      return ScriptValue{std::move(tuple)};
    }
    case GANTRY_OBJECT:
    case GANTRY_FUNCTION:
    case GANTRY_MODULE:
      return ScriptValue{ObjectScriptValue{}};
    default:
      return ScriptValue{AnyScriptValue{}};
  }
}

Result<std::string> value_line(const Runtime& runtime, const Any& value) {
  if (value.value().kind == GANTRY_ARRAY) {
    GANTRY_TRY(const std::vector<Any> items, value.items());
    std::vector<std::string> texts;
    for (const Any& item : items) {
      GANTRY_TRY(texts.emplace_back(), value_line(runtime, item));
    }
    return concat("(", join(texts), ")");
  }
  if (value.value().kind != GANTRY_TENSOR) return described(value);
  constexpr std::uint64_t max = 8;
  GANTRY_TRY(const CpuCopy copy, host_copy(runtime, value, ""));
  const std::uint64_t count = copy.view.element_count();
  std::vector<std::uint8_t> room;
  std::string text = concat(type_text(copy.view.dtype, copy.view.shape), " ");
  for (std::uint64_t i = 0; i < std::min(count, max); ++i)
    text +=
        " " + element_text(element_at(copy.view.bytes, copy.view.dtype, i, room), copy.view.dtype);
  return text + (count > max ? " ..." : "");
}

}  // namespace gantry::cli
