// SPDX-License-Identifier: Apache-2.0
#include "dlpack_export.hpp"

#include <cstdint>
#include <string>

#include "call_status.hpp"
#include "dlpack.hpp"
#include "gil.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

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

}  // namespace

nb::tuple dlpack_device(const Tensor& tensor) {
  return nb::make_tuple(tensor.get().device.type, tensor.get().device.index);
}

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

}  // namespace gantry::python
