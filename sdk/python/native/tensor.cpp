// SPDX-License-Identifier: Apache-2.0
#include "tensor.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/concat.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/handle.hpp>
#include <gantry/tensor_text.hpp>

#include <cstdint>
#include <memory>
#include <string>

#include "call_status.hpp"
#include "collected.hpp"
#include "dlpack.hpp"
#include "dtypes.hpp"
#include "gil.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

nb::str text(std::string_view characters) { return nb::str(characters.data(), characters.size()); }

nb::tuple shape(const Tensor& tensor) {
  nb::list extents;
  for (const std::int64_t extent : shape_of(tensor.get())) extents.append(extent);
  return nb::tuple(extents);
}

std::uint64_t bytes_in(const gantry_tensor& tensor) {
  const auto bytes = tensor_bytes(shape_of(tensor), tensor.dtype);
  return bytes.ok() ? *bytes : 0;
}

std::string described(const Tensor& tensor) {
  return concat("<gantry.Tensor ", tensor_text(tensor.get()), " on ",
                device_name(tensor.runtime(), tensor.get().device), ">");
}

// The strides of a buffer, which the buffer protocol counts in bytes.
Py_ssize_t* new_steps(const gantry_tensor& tensor, Py_ssize_t item_bytes) {
  auto steps = std::make_unique<Py_ssize_t[]>(static_cast<std::size_t>(tensor.ndim) + 1);
  Py_ssize_t step = item_bytes;
  for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    steps[axis] = tensor.strides != nullptr ? tensor.strides[axis] * item_bytes : step;
    step *= tensor.shape[axis];
  }
  return steps.release();
}

// The slot bf_getbuffer: memory of a tensor on the CPU whose element type the protocol has.
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  const Tensor& owner = *nb::inst_ptr<Tensor>(self);
  const gantry_tensor& tensor = owner.get();
  const char* const format = format_of_dtype(tensor.dtype);
  if (view == nullptr || !owner.is_on_cpu() || format == nullptr) {
    PyErr_Format(PyExc_BufferError, "%s has no buffer", described(owner).c_str());
    return -1;
  }
  const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  if (!wants_strides && !is_compact(tensor)) {
    PyErr_SetString(PyExc_BufferError, "the tensor has strides");
    return -1;
  }
  *view = {};
  view->buf = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view->itemsize = static_cast<Py_ssize_t>(element_bytes(tensor.dtype));
  view->len = static_cast<Py_ssize_t>(bytes_in(tensor));
  view->readonly = 0;
  view->ndim = tensor.ndim;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) != 0 ? tensor.shape : nullptr;
  try {
    if (wants_strides) view->strides = new_steps(tensor, view->itemsize);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return -1;
  }
  view->internal = view->strides;
  view->obj = Py_NewRef(self);
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) noexcept {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

PyType_Slot tensor_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_runtime<Tensor>)},
                              {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};

// Returns a copy on the CPU.
nb::object copy_to_cpu(const Tensor& from) {
  const gantry_host* const host = from.runtime()->host;
  CallStatus status;
  gantry_value made{};
  gantry_code code = GANTRY_OK;
  const gantry_tensor like = compact_tensor(from.get().dtype, shape_of(from.get()));
  {
    const GilReleased released;
    code = host->tensor_new(host, &like, {}, 0, &made, status.out());
  }
  status.check(code);
  OwnedValue copy = OwnedValue::adopt(made);
  {
    const GilReleased released;
    code = host->tensor_copy(host, &from.get(), gantry_value_tensor(&copy.get()), nullptr,
                             status.out());
  }
  status.check(code);
  return nb::cast(Tensor(from.runtime(), std::move(copy)));
}

nb::object numpy_module() { return nb::module_::import_("numpy"); }

// Returns an array of a package that adds the element type to NumPy.
nb::object named_dtype_array(nb::object tensor, gantry_dtype dtype) {
  const std::uint64_t item_bytes = element_bytes(dtype);
  const bool is_known = dtype.code != static_cast<std::uint8_t>(TypeCode::handle) &&
                        dtype.lanes == 1 && dtype.bits == item_bytes * 8;
  const char* const stored = item_bytes == 1 ? "uint8" : item_bytes == 2 ? "uint16" : nullptr;
  if (!is_known || stored == nullptr) {
    PyErr_Format(PyExc_TypeError, "NumPy has no element type %s", dtype_text(dtype).c_str());
    throw nb::python_error();
  }
  const nb::object type = nb::module_::import_("ml_dtypes").attr(dtype_text(dtype).c_str());
  const Tensor& owner = nb::cast<const Tensor&>(tensor);
  gantry_tensor bits = owner.get();
  bits.dtype = item_bytes == 1 ? dtypes::uint8 : dtypes::uint16;
  const gantry_host* const host = owner.runtime()->host;
  CallStatus status;
  gantry_value view{};
  status.check(host->tensor_view(host, &bits, owner.value().get().object, 0, &view, status.out()));
  const nb::object integers = nb::cast(Tensor(owner.runtime(), OwnedValue::adopt(view)));
  return numpy_module().attr("asarray")(integers).attr("view")(type);
}

nb::object numpy_array(nb::object tensor) {
  const Tensor& owner = nb::cast<const Tensor&>(tensor);
  if (!owner.is_on_cpu()) return numpy_array(copy_to_cpu(owner));
  if (format_of_dtype(owner.get().dtype) == nullptr)
    return named_dtype_array(tensor, owner.get().dtype);
  return numpy_module().attr("asarray")(tensor);
}

// The protocol of NumPy: numpy.asarray(tensor).
nb::object array_protocol(nb::object tensor, const nb::object& dtype, const nb::object& copy) {
  const Tensor& owner = nb::cast<const Tensor&>(tensor);
  const bool may_copy = !copy.is(nb::handle(Py_False));
  if (!owner.is_on_cpu() && !may_copy)
    refuse("COPY_REQUIRED", concat(described(owner), " is not in memory of the CPU"));
  nb::object array = numpy_array(tensor);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  return copy.is(nb::handle(Py_True)) ? array.attr("copy")() : array;
}

// The first members of both structs of DLPack up to their deleter.
struct PlainHead {
  gantry_tensor tensor;
  void* manager;
  void (*deleter)(void* self);
};
struct VersionedHead {
  std::uint32_t major, minor;
  void* manager;
  void (*deleter)(void* self);
};

// Destroys a tensor that no consumer has taken.
template <class Head>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* const head = static_cast<Head*>(PyCapsule_GetPointer(capsule, name));
  head->deleter(head);
}
void destroy_plain(PyObject* capsule) { destroy_capsule<PlainHead>(capsule, dlpack::managed_name); }
void destroy_versioned(PyObject* capsule) {
  destroy_capsule<VersionedHead>(capsule, dlpack::versioned_name);
}

[[noreturn]] void refuse_buffer(const char* text) {
  PyErr_SetString(PyExc_BufferError, text);
  throw nb::python_error();
}

// Tensor.__dlpack_device__: the device's type and index.
nb::tuple dlpack_device(const Tensor& tensor) {
  return nb::make_tuple(tensor.get().device.type, tensor.get().device.index);
}

// Tensor.__dlpack__: returns a capsule whose tensor keeps the tensor of the runtime.
//
// stream   [in]   None or an integer; the work that produces the tensor is complete on return, so any
//                 stream may use it
// throws   BufferError: another device, or a copy, is requested
nb::object dlpack_export(const Tensor& tensor, const nb::object&, const nb::object& max_version,
                         const nb::object& device, const nb::object& copy) {
  if (copy.is(nb::handle(Py_True))) refuse_buffer("gantry.Tensor exports no copies");
  if (!device.is_none() && !device.equal(dlpack_device(tensor)))
    refuse_buffer("gantry.Tensor exports no copies on other devices");
  const bool is_versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  void* managed = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code =
        embed().dlpack_export(tensor.runtime()->runtime.get(), tensor.value().get().object,
                              is_versioned ? dlpack::version : 0, nullptr, &managed, status.out());
  }
  // The protocol requires this exception for tensors that cannot be exported.
  if (code == GANTRY_UNSUPPORTED || code == GANTRY_INVALID)
    refuse_buffer(std::string(status.text()).c_str());
  status.check(code);
  PyObject* const capsule = is_versioned
                                ? PyCapsule_New(managed, dlpack::versioned_name, destroy_versioned)
                                : PyCapsule_New(managed, dlpack::managed_name, destroy_plain);
  if (capsule != nullptr) return nb::steal(capsule);
  if (is_versioned) {
    static_cast<VersionedHead*>(managed)->deleter(managed);
  } else {
    static_cast<PlainHead*>(managed)->deleter(managed);
  }
  throw nb::python_error();
}

}  // namespace

std::string device_name(const RuntimeRef& runtime, gantry_device_id device) {
  // Without a look at the runtime.
  if (!dlpack_name(device.type).empty()) return device_text(device);
  const GilReleased released;
  return Host(runtime->host).device_text(device);
}

bool Tensor::is_on_cpu() const { return get().device.type == cpu_device_type; }

nb::object numpy_or_tensor(nb::object tensor) {
  const Tensor& owner = nb::cast<const Tensor&>(tensor);
  return format_of_dtype(owner.get().dtype) != nullptr ? numpy_array(tensor) : tensor;
}

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor", nb::type_slots(tensor_slots),
                     "A tensor of a runtime, on any device.\n\n"
                     "It has the buffer protocol (memory of the CPU only), DLPack and NumPy's "
                     "__array__, so other\npackages use it without a copy: numpy.asarray(tensor), "
                     "torch.from_dlpack(tensor).")
      .def_prop_ro("shape", shape, "Extents of the dimensions.")
      .def_prop_ro(
          "dtype", [](const Tensor& tensor) { return text(dtype_text(tensor.get().dtype)); },
          "Element type: \"float32\", \"bfloat16\".")
      .def_prop_ro(
          "device",
          [](const Tensor& tensor) {
            return text(device_name(tensor.runtime(), tensor.get().device));
          },
          "Device: \"cpu:0\", \"opencl:1\".")
      .def_prop_ro(
          "nbytes", [](const Tensor& tensor) { return bytes_in(tensor.get()); },
          "Bytes of all elements.")
      .def("numpy", numpy_array,
           "Returns the elements as a NumPy array.\n\nThe array uses the memory of the tensor if "
           "that is on the CPU, else it is a copy. Element types of\nml_dtypes require that "
           "package.")
      .def("__array__", array_protocol, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack__", dlpack_export, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none())
      .def("__dlpack_device__", dlpack_device)
      .def("__repr__", [](const Tensor& tensor) { return text(described(tensor)); });
}

}  // namespace gantry::python
