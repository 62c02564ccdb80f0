// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include <algorithm>
#include <utility>

#include "tensor.hpp"

namespace nb = nanobind;

namespace gantry::python {

Outputs::Outputs(const nb::object& targets, const RuntimeRef& runtime) {
  if (targets.is_none()) return;
  for (const nb::handle target : targets) targets_.push_back(nb::borrow(target));
  views_ = std::make_unique<ArrayView[]>(targets_.size());
  values_.resize(targets_.size());
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const nb::object& target = targets_[i];
    if (target.is_none()) continue;
    if (nb::isinstance<Tensor>(target)) {
      values_[i] = nb::cast<const Tensor&>(target).value().get();
    } else if (views_[i].write(target, runtime)) {
      values_[i] = views_[i].value();
    } else {
      PyErr_Format(PyExc_TypeError, "%R cannot be filled: expected an array or None",
                   reinterpret_cast<PyObject*>(Py_TYPE(target.ptr())));
      throw nb::python_error();
    }
  }
}

bool Outputs::has_booleans() const {
  return std::ranges::any_of(values_, [](const gantry_value& value) { return is_boolean(value); });
}

void Outputs::set_boolean_dtype(std::size_t index, gantry_dtype dtype) {
  if (index < values_.size() && is_boolean(values_[index])) views_[index].set_dtype(dtype);
}

Outputs::~Outputs() {
  // Values of targets are borrowed.
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (targets_[i].is_none() && values_[i].kind >= GANTRY_OBJECT) release(values_[i].object);
}

nb::object Outputs::objects(const RuntimeRef& runtime, std::uint32_t count, ResultForm form) {
  nb::list all;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (targets_[i].is_none()) {
      all.append(object_of(runtime, OwnedValue::adopt(std::exchange(values_[i], {})), form));
    } else {
      all.append(targets_[i]);
    }
  }
  return nb::tuple(all);
}

}  // namespace gantry::python
