// SPDX-License-Identifier: Apache-2.0
#include "dlpack_export.hpp"

#include <memory>
#include <new>

#include "call_status.hpp"
#include "dlpack.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

// What a capsule exports: the record that the consumer sees, and a reference to the tensor, which
// keeps its runtime.
template <class Record>
struct Exported {
  Record record{};
  gantry_object* object = nullptr;
};

// Called by the consumer, on any thread, with or without the GIL, also while Python ends.
template <class Record>
void destroy(Record* record) {
  auto* const exported = static_cast<Exported<Record>*>(record->context);
  gantry_release(exported->object);
  delete exported;
}

// Destroys a tensor that no consumer has taken.
template <class Record>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* const record = static_cast<Record*>(PyCapsule_GetPointer(capsule, name));
  record->deleter(record);
}

template <class Record>
nb::object capsule_of(const Tensor& tensor, const char* name, void (*destructor)(PyObject*)) {
  auto exported = std::make_unique<Exported<Record>>();
  exported->object = tensor.value().get().object;
  exported->record.tensor = tensor.get();
  exported->record.context = exported.get();
  exported->record.deleter = destroy<Record>;
  if constexpr (requires { exported->record.major; }) exported->record.major = 1;
  PyObject* const capsule = PyCapsule_New(&exported->record, name, destructor);
  if (capsule == nullptr) throw nb::python_error();
  gantry_retain(exported->object);
  exported.release();
  return nb::steal(capsule);
}

void synchronize(const Tensor& tensor) {
  if (tensor.is_on_cpu()) return;
  const gantry_host* const host = tensor.runtime()->host;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    nb::gil_scoped_release released;
    gantry_device device{};
    const gantry_device_id id = tensor.get().device;
    code = host->device_get(host, id, &device, status.out());
    if (code == GANTRY_OK)
      code = device.table->synchronize(device.self, id.index, nullptr, status.out());
  }
  status.check(code);
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
  synchronize(tensor);
  const bool is_versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  if (is_versioned) {
    return capsule_of<dlpack::VersionedTensor>(
        tensor, dlpack::versioned_name, [](PyObject* capsule) {
          destroy_capsule<dlpack::VersionedTensor>(capsule, dlpack::versioned_name);
        });
  }
  return capsule_of<dlpack::ManagedTensor>(tensor, dlpack::managed_name, [](PyObject* capsule) {
    destroy_capsule<dlpack::ManagedTensor>(capsule, dlpack::managed_name);
  });
}

}  // namespace gantry::python
