// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/packed/packed_values.hpp"

#include "core/engine/native/device_numbers.hpp"

#include <gantry/kind_text.hpp>

#include <cstring>

namespace gantry {
namespace {

Failure argument_error(std::int32_t i, std::string_view what) {
  return invalid("argument ", i, " is ", what).with_reason("ARGUMENT_KIND");
}

// Returns the object in a handle of code 8, 9, 10 or 13; NULL unless it is an object of this runtime
// of that kind.
gantry_object* object_in(void* handle, int code) {
  if (handle == nullptr) return nullptr;
  auto* const object = static_cast<gantry_object*>(handle) - (code == kPackedNdArray ? 1 : 0);
  switch (code) {
    case kPackedModule:
      return object->kind == GANTRY_MODULE ? object : nullptr;
    case kPackedFunction:
      return object->kind == GANTRY_FUNCTION ? object : nullptr;
    case kPackedNdArray:
      return object->kind == GANTRY_TENSOR ? object : nullptr;
    default:
      return object->kind >= GANTRY_OBJECT && object->kind <= GANTRY_MODULE ? object : nullptr;
  }
}

std::string_view object_text(int code) {
  switch (code) {
    case kPackedModule:
      return "a module";
    case kPackedFunction:
      return "a function";
    case kPackedNdArray:
      return "a tensor";
    default:
      return "an object";
  }
}

Failure result_error(int code, std::string_view why) {
  return unsupported("it returns a value of type code ", code, why).with_reason("HOST_RESULT");
}

Result<Value> owned_object(PackedValue value, int code) {
  gantry_object* const object = object_in(value.p, code);
  if (object == nullptr) return result_error(code, ", but the object is not one of this runtime");
  return owned_value(ObjectPtr::share(object));
}

}  // namespace

// CPU code takes C strings. Texts are NUL-terminated, in objects and in small strings.
Status PackedArguments::fill_text(std::int32_t i, const gantry_value& value) {
  gantry_bytes text{};
  if (value.kind == GANTRY_CSTRING) {
    if (value.cstring == nullptr) return argument_error(i, "a string at address 0");
    text = {value.cstring, std::strlen(value.cstring)};
  } else {
    if (value.kind == GANTRY_SMALL_STRING && value.small_size > 7) {
      return argument_error(i,
                            concat("a small string of ", value.small_size, " bytes, maximum is 7"));
    }
    gantry_value_bytes(&value, &text);
  }
  if (text.size != 0 && std::memchr(text.data, 0, text.size) != nullptr) {
    return argument_error(i, "a string with a NUL inside, which CPU code cannot take");
  }
  if (value.kind == GANTRY_SMALL_STRING && text.data[text.size] != '\0') {
    return argument_error(i, "a small string that is not padded with zeros");
  }
  values_[i].s = text.data;
  codes_[i] = kPackedString;
  return {};
}

Status PackedArguments::fill(const ModuleNode& node, const gantry_value* values) {
  const bool same_numbers = !translates_devices(node);
  for (std::int32_t i = 0; i < count_; ++i) {
    const gantry_value& value = values[i];
    values_[i].i = value.i;
    switch (value.kind) {
      case GANTRY_TENSOR_REF:
      case GANTRY_TENSOR: {
        if (value.p == nullptr) return argument_error(i, "a tensor at address 0");
        gantry_tensor* tensor = gantry_value_tensor(&value);
        if (!same_numbers) {
          tensors_[i] = *tensor;
          tensors_[i].device.type = to_artifact(node, tensor->device.type);
          tensor = &tensors_[i];
        }
        values_[i].p = tensor;
        codes_[i] = kPackedTensor;
        break;
      }
      case GANTRY_INT:
      case GANTRY_BOOL:
        codes_[i] = kPackedInt;
        break;
      case GANTRY_FLOAT:
        codes_[i] = kPackedFloat;
        break;
      case GANTRY_POINTER:
        codes_[i] = kPackedHandle;
        break;
      case GANTRY_NONE:
        values_[i].p = nullptr;
        codes_[i] = kPackedNull;
        break;
      case GANTRY_DTYPE:
        codes_[i] = kPackedDtype;
        break;
      case GANTRY_DEVICE:
        values_[i].device.type = to_artifact(node, value.device.type);
        codes_[i] = kPackedDevice;
        break;
      case GANTRY_CSTRING:
      case GANTRY_SMALL_STRING:
      case GANTRY_STRING:
        GANTRY_CHECK(fill_text(i, value));
        break;
      case GANTRY_BYTES_REF:
        if (value.bytes == nullptr) return argument_error(i, "bytes at address 0");
        codes_[i] = kPackedBytes;
        break;
      case GANTRY_BYTES:
        // gantry_bytes is TVMByteArray
        values_[i].p = value.object + 1;
        codes_[i] = kPackedBytes;
        break;
      case GANTRY_SMALL_BYTES:
        if (value.small_size > 8) {
          return argument_error(
              i, concat("small bytes of ", value.small_size, " bytes, maximum is 8"));
        }
        side_bytes_.push_back(
            std::make_unique<gantry_bytes>(gantry_bytes{value.small, value.small_size}));
        values_[i].p = side_bytes_.back().get();
        codes_[i] = kPackedBytes;
        break;
      case GANTRY_FUNCTION:
        codes_[i] = kPackedFunction;
        break;
      case GANTRY_MODULE:
        codes_[i] = kPackedModule;
        break;
      default:
        return argument_error(i,
                              concat(kind_text(value.kind),
                                     "; CPU code takes numbers, texts, tensors, pointers, devices, "
                                     "dtypes, functions and modules"));
    }
  }
  return {};
}

Status GantryArguments::fill(const ModuleNode* node, const PackedValue* values, const int* codes) {
  const bool same_numbers = node == nullptr || !translates_devices(*node);
  for (std::int32_t i = 0; i < count_; ++i) {
    gantry_value& value = values_[i];
    value.small_size = 0;
    value.i = values[i].i;
    switch (codes[i]) {
      case kPackedInt:
      case kPackedUint:
        value.kind = GANTRY_INT;
        break;
      case kPackedBool:
        value.kind = GANTRY_BOOL;
        break;
      case kPackedFloat:
        value.kind = GANTRY_FLOAT;
        break;
      case kPackedHandle:
        value.kind = GANTRY_POINTER;
        break;
      case kPackedNull:
        value.kind = GANTRY_NONE;
        value.i = 0;
        break;
      case kPackedDtype:
        value.kind = GANTRY_DTYPE;
        break;
      case kPackedDevice:
        value.kind = GANTRY_DEVICE;
        if (!same_numbers) value.device.type = to_runtime(*node, value.device.type);
        break;
      case kPackedTensor:
        if (value.p == nullptr) return argument_error(i, "a tensor at address 0");
        value.kind = GANTRY_TENSOR_REF;
        if (!same_numbers) {
          tensors_[i] = *value.tensor;
          tensors_[i].device.type = to_runtime(*node, value.tensor->device.type);
          value.tensor = &tensors_[i];
        }
        break;
      case kPackedString:
        if (value.p == nullptr) return argument_error(i, "a string at address 0");
        value.kind = GANTRY_CSTRING;
        break;
      case kPackedBytes:
        if (value.p == nullptr) return argument_error(i, "bytes at address 0");
        value.kind = GANTRY_BYTES_REF;
        break;
      case kPackedObject:
      case kPackedModule:
      case kPackedFunction:
      case kPackedNdArray: {
        gantry_object* const object = object_in(value.p, codes[i]);
        if (object == nullptr)
          return argument_error(i, concat("not ", object_text(codes[i]), " of this runtime"));
        value = value_of(object);
        break;
      }
      default:
        return invalid("argument ", i, " has type code ", codes[i],
                       ", which cannot be passed to plugins")
            .with_reason("ARGUMENT_KIND");
    }
  }
  return {};
}

Result<Value> result_from_host(const ModuleNode& node, PackedValue value, int code) {
  gantry_value result{};
  result.i = value.i;
  switch (code) {
    case kPackedInt:
    case kPackedUint:
      result.kind = GANTRY_INT;
      break;
    case kPackedBool:
      result.kind = GANTRY_BOOL;
      result.i = value.i != 0;
      break;
    case kPackedFloat:
      result.kind = GANTRY_FLOAT;
      break;
    case kPackedHandle:
      result.kind = GANTRY_POINTER;
      break;
    case kPackedNull:
      return Value();
    case kPackedDtype:
      result.kind = GANTRY_DTYPE;
      result.i = 0;
      result.dtype = value.dtype;
      break;
    case kPackedDevice:
      result.kind = GANTRY_DEVICE;
      result.device.type = to_runtime(node, value.device.type);
      break;
    case kPackedString: {
      if (value.s == nullptr) return result_error(code, " (a string) at address 0");
      return new_text(GANTRY_STRING, value.s);
    }
    case kPackedBytes: {
      if (value.p == nullptr) return result_error(code, " (bytes) at address 0");
      const auto* bytes = static_cast<const gantry_bytes*>(value.p);
      return new_text(GANTRY_BYTES, {bytes->data, bytes->size});
    }
    case kPackedFunction:
    case kPackedModule:
      return owned_object(value, code);
    case kPackedTensor:
    case kPackedNdArray:
      return result_error(code, " (a tensor), which only the runtime that created it can own");
    default:
      return result_error(code, ", which cannot be passed to callers");
  }
  return Value::adopt(result);
}

Result<Value> item_from_host(const ModuleNode& node, PackedValue value, int code) {
  if (code == kPackedObject || code == kPackedNdArray) return owned_object(value, code);
  return result_from_host(node, value, code);
}

PackedItem to_borrowed(const ModuleNode* node, const gantry_value& value) {
  PackedValue out{};
  out.i = value.i;
  switch (value.kind) {
    case GANTRY_NONE:
      return {out, kPackedNull};
    case GANTRY_INT:
    case GANTRY_BOOL:
      return {out, kPackedInt};
    case GANTRY_FLOAT:
      return {out, kPackedFloat};
    case GANTRY_POINTER:
      return {out, kPackedHandle};
    case GANTRY_DTYPE:
      return {out, kPackedDtype};
    case GANTRY_DEVICE:
      if (node != nullptr) out.device.type = to_artifact(*node, value.device.type);
      return {out, kPackedDevice};
    case GANTRY_TENSOR:
      out.p = gantry_value_tensor(&value);
      return {out, kPackedNdArray};
    case GANTRY_FUNCTION:
      return {out, kPackedFunction};
    case GANTRY_MODULE:
      return {out, kPackedModule};
    default:
      return {out, kPackedObject};
  }
}

}  // namespace gantry
