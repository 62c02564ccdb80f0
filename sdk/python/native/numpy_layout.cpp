// SPDX-License-Identifier: Apache-2.0
#include "numpy_layout.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <cstdint>
#include <iterator>

namespace gantry::python {
namespace {

struct ArrayFields {
  PyObject header;
  char* data;
  int ndim;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* descr;
  int flags;
};
struct DescrFields {
  PyObject header;
  PyObject* type;
  char kind;
  char character;
  // '=', '|' or '<' on this machine, else '>'
  char byte_order;
  char reserved;
  int number;
};
constexpr int is_c_contiguous = 0x0001;
constexpr int is_aligned = 0x0100;
constexpr int half_number = 23;

// Indices are NPY_TYPES. bits 0: no tensor has such elements.
constexpr gantry_dtype dtypes_by_number[] = {
    dtypes::of(TypeCode::bool_, 8),
    dtypes::int8,
    dtypes::uint8,
    dtypes::int16,
    dtypes::uint16,
    dtypes::int32,
    dtypes::uint32,
    // long, long long
    dtypes::int64,
    dtypes::uint64,
    dtypes::int64,
    dtypes::uint64,
    dtypes::float32,
    dtypes::float64,
    // long double
    {},
    dtypes::of(TypeCode::complex, 64),
    dtypes::of(TypeCode::complex, 128),
};
static_assert(sizeof(long) == 8);

// numpy.ndarray once NumPy is imported; never released.
PyObject* ndarray_type() {
  static PyObject* type = nullptr;
  if (type != nullptr) return type;
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const module = PyDict_GetItemString(modules, "numpy");
  if (module == nullptr) return nullptr;
  type = PyObject_GetAttrString(module, "ndarray");
  if (type == nullptr) PyErr_Clear();
  return type;
}

}  // namespace

bool describe_numpy_array(PyObject* object, gantry_tensor& tensor) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != ndarray_type()) return false;
  const auto& array = *reinterpret_cast<const ArrayFields*>(object);
  const auto& descr = *reinterpret_cast<const DescrFields*>(array.descr);
  constexpr int required = is_c_contiguous | is_aligned;
  if ((array.flags & required) != required || descr.byte_order == '>') return false;
  gantry_dtype dtype{};
  if (descr.number == half_number) {
    dtype = dtypes::float16;
  } else if (descr.number >= 0 &&
             static_cast<std::size_t>(descr.number) < std::size(dtypes_by_number)) {
    dtype = dtypes_by_number[descr.number];
  }
  if (dtype.bits == 0) return false;
  tensor = {array.data, {cpu_device_type, 0}, array.ndim, dtype, array.shape, nullptr, 0};
  return true;
}

}  // namespace gantry::python
