// SPDX-License-Identifier: Apache-2.0
#include <gantry/concat.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/kind_text.hpp>

#include <span>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "call_status.hpp"
#include "collected.hpp"
#include "function.hpp"
#include "model.hpp"
#include "nesting.hpp"
#include "opaque.hpp"
#include "tensor.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

nb::object text_object(const gantry_value& value) {
  gantry_bytes bytes{};
  gantry_value_bytes(&value, &bytes);
  const auto size = static_cast<Py_ssize_t>(bytes.size);
  const bool is_binary = value.kind == GANTRY_SMALL_BYTES || value.kind == GANTRY_BYTES ||
                         value.kind == GANTRY_BYTES_REF;
  PyObject* const made = is_binary ? PyBytes_FromStringAndSize(bytes.data, size)
                                   : PyUnicode_DecodeUTF8(bytes.data, size, "backslashreplace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object shape_object(const gantry_value& value) {
  gantry_shape shape{};
  gantry_value_shape(&value, &shape);
  nb::list extents;
  for (std::uint64_t i = 0; i < shape.count; ++i) extents.append(shape.dims[i]);
  return nb::tuple(extents);
}

// Not inlined: its status is larger than all that a level of nested items needs of the stack.
[[gnu::noinline]] std::span<const gantry_value> items_in(const RuntimeRef& runtime,
                                                         gantry_object* object) {
  const gantry_value* items = nullptr;
  std::uint64_t count = 0;
  CallStatus status;
  const gantry_host* const host = runtime->host;
  status.check(host->items_get(host, object, &items, &count, status.out()));
  return {items, count};
}

nb::object items_object(const RuntimeRef& runtime, const gantry_value& value, ResultForm form) {
  check_nesting("arrays and maps in a result");
  const std::span<const gantry_value> items = items_in(runtime, value.object);
  const std::size_t count = items.size();
  const auto item = [&](std::uint64_t index) {
    return object_of(runtime, OwnedValue::share(items[index]), form);
  };
  if (value.kind == GANTRY_MAP) {
    nb::dict map;
    for (std::uint64_t i = 0; i + 1 < count; i += 2) map[item(i)] = item(i + 1);
    return map;
  }
  nb::list list;
  for (std::uint64_t i = 0; i < count; ++i) list.append(item(i));
  return nb::tuple(list);
}

}  // namespace

nb::object object_of(const RuntimeRef& runtime, OwnedValue value, ResultForm form) {
  const gantry_value& read = value.get();
  switch (read.kind) {
    case GANTRY_NONE:
      return nb::none();
    case GANTRY_INT:
      return nb::int_(read.i);
    case GANTRY_BOOL:
      return nb::bool_(read.i != 0);
    case GANTRY_FLOAT:
      return nb::float_(read.f);
    case GANTRY_DTYPE:
      return nb::str(dtype_text(read.dtype).c_str());
    case GANTRY_DEVICE:
      return nb::str(device_name(runtime, read.device).c_str());
    case GANTRY_SMALL_STRING:
    case GANTRY_SMALL_BYTES:
    case GANTRY_STRING:
    case GANTRY_BYTES:
    case GANTRY_CSTRING:
    case GANTRY_BYTES_REF:
      return text_object(read);
    case GANTRY_SHAPE:
      return shape_object(read);
    case GANTRY_ARRAY:
    case GANTRY_MAP:
      return items_object(runtime, read, form);
    case GANTRY_TENSOR: {
      nb::object tensor = nb::cast(Tensor(runtime, std::move(value)));
      return form == ResultForm::tensors ? tensor : numpy_or_tensor(std::move(tensor));
    }
    case GANTRY_FUNCTION: {
      gantry_retain(read.object);
      return new_function(runtime, OwnedObject::adopt(read.object), "");
    }
    case GANTRY_MODULE: {
      gantry_retain(read.object);
      return nb::cast(Module(runtime, OwnedObject::adopt(read.object)));
    }
    default:
      if (read.kind >= GANTRY_OBJECT) return nb::cast(Opaque(runtime, std::move(value)));
      PyErr_Format(PyExc_TypeError, "the result is %s, which Python does not have",
                   std::string(kind_text(read.kind)).c_str());
      throw nb::python_error();
  }
}

void bind_object(nb::module_& module) {
  nb::class_<Opaque>(module, "Object", nb::type_slots(collected_slots<Opaque>),
                     "A result that only plugins and compiled code use, such as a KV cache.\n\nIt "
                     "can be an argument of later calls.")
      .def("__repr__", [](const Opaque& object) {
        return nb::str(
            concat("<gantry.Object: ", kind_text(object.value().get().kind), ">").c_str());
      });
}

}  // namespace gantry::python
