// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <gantry/concat.hpp>
#include <gantry/dtype_text.hpp>

#include <nanobind/stl/string_view.h>

#include <utility>
#include <vector>

#include "arguments.hpp"
#include "call_status.hpp"
#include "collected.hpp"
#include "function.hpp"
#include "gil.hpp"
#include "outputs.hpp"
#include "report.hpp"
#include "run_task.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

nb::object text_or_none(gantry_bytes text) {
  return text.size != 0 ? nb::object(str_of(view_of(text))) : nb::none();
}

const char* kind_name(std::int32_t kind) {
  if (kind == GANTRY_TENSOR) return "tensor";
  return kind == GANTRY_ARRAY ? "tuple" : "value";
}

nb::tuple parameter_object(const gantry_parameter& parameter) {
  nb::object shape = nb::none();
  if (parameter.ndim >= 0) {
    nb::list extents;
    for (std::int32_t axis = 0; axis < parameter.ndim; ++axis) {
      const std::int64_t extent = parameter.shape[axis];
      extents.append(extent < 0 ? nb::none() : nb::object(nb::int_(extent)));
    }
    shape = nb::tuple(extents);
  }
  const nb::object dtype =
      parameter.dtype.bits != 0 ? nb::object(str_of(dtype_text(parameter.dtype))) : nb::none();
  return nb::make_tuple(str_of(view_of(parameter.name)), kind_name(parameter.kind),
                        text_or_none(parameter.type), dtype, shape);
}

nb::tuple parameter_objects(const gantry_parameter* const* parameters, std::uint32_t count) {
  nb::list all;
  for (std::uint32_t i = 0; i < count; ++i) all.append(parameter_object(*parameters[i]));
  return nb::tuple(all);
}

const gantry_signature& signature_of(gantry_object* model, std::string_view function) {
  const gantry_signature* signature = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = embed().model_signature(model, bytes_of(function), &signature, status.out());
  }
  status.check(code);
  return *signature;
}

// Gives booleans the number of bits that the signature states.
void match_booleans(const gantry_signature& signature, const Texts& names, Arguments& arguments,
                    Outputs& targets) {
  constexpr gantry_dtype one_bit = dtypes::of(TypeCode::uint, 1);
  for (std::uint32_t input = 0; input < signature.input_count; ++input) {
    const gantry_parameter& parameter = *signature.inputs[input];
    if (!same_dtype(parameter.dtype, one_bit)) continue;
    for (std::uint32_t i = 0; i < arguments.count(); ++i) {
      const bool is_it =
          names.size() == 0 ? input == i : gantry_bytes_equal(parameter.name, names.data()[i]);
      if (is_it) arguments.set_boolean_dtype(i, one_bit);
    }
  }
  for (std::uint32_t i = 0; i < signature.output_count; ++i) {
    if (same_dtype(signature.outputs[i]->dtype, one_bit)) targets.set_boolean_dtype(i, one_bit);
  }
}

nb::object find_function(const Module& module, std::string_view name) {
  const gantry_host* const host = module.runtime()->host;
  gantry_object* function = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = host->find(host, module.object(), GANTRY_FIND_SELF | GANTRY_FIND_IMPORTS, bytes_of(name),
                      &function, status.out());
  }
  status.check(code);
  return new_function(module.runtime(), OwnedObject::adopt(function), name);
}

}  // namespace

Model::Model(const Module& module, const nb::object& devices, std::uint32_t executors,
             bool captures, bool prepares)
    : runtime_(module.runtime()) {
  const Texts names(devices);
  gantry_model_options options{};
  options.struct_size = sizeof options;
  if (captures) options.flags |= GANTRY_MODEL_CAPTURE;
  if (prepares) options.flags |= GANTRY_MODEL_PREPARE;
  options.devices = names.data();
  options.device_count = names.size();
  options.executors = executors;
  gantry_object* made = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = embed().model_new(module.object(), &options, &made, status.out());
  }
  status.check(code);
  object_ = OwnedObject::adopt(made);
}

nb::object Model::functions() const {
  CallStatus status;
  OwnedValue names;
  status.check(embed().model_functions(object_.get(), names.slot(), status.out()));
  return object_of(runtime_, std::move(names), ResultForm::arrays);
}

nb::tuple Model::signature(std::string_view function) const {
  const gantry_signature& read = signature_of(object_.get(), function);
  nb::object outputs = nb::none();
  if ((read.flags & GANTRY_SIGNATURE_OUTPUTS) != 0)
    outputs = parameter_objects(read.outputs, read.output_count);
  return nb::make_tuple(str_of(view_of(read.name)),
                        parameter_objects(read.inputs, read.input_count), outputs);
}

nb::object Model::report(std::string_view what) const {
  return report_of(runtime_, object_.get(), what);
}

nb::object Model::run(std::string_view function, const nb::object& names, const nb::tuple& inputs,
                      const nb::object& outputs, bool may_copy, bool as_tensors,
                      const nb::object& timeout) {
  const Texts input_names(names);
  Arguments arguments(runtime_, inputs.size(), true, may_copy ? "" : "which copy=False forbids");
  for (const nb::handle input : inputs) arguments.add(input);
  Outputs targets(outputs, runtime_);
  if (arguments.has_booleans() || targets.has_booleans())
    match_booleans(signature_of(object_.get(), function), input_names, arguments, targets);

  gantry_run run{};
  run.struct_size = sizeof run;
  run.function = bytes_of(function);
  run.input_names = input_names.data();
  run.inputs = arguments.values();
  run.input_count = static_cast<std::uint32_t>(arguments.count());
  run.outputs = targets.values();
  run.output_count = targets.count();
  const RunTask task(timeout);
  run.task = task.get();
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = embed().run(object_.get(), &run, status.out());
  }
  OwnedValue result = OwnedValue::adopt(run.result);
  // of a handler of signals
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  status.check(code);
  copied_bytes_.fetch_add(arguments.copied_bytes() + run.copied_bytes, std::memory_order_relaxed);
  if (!may_copy && run.copied_bytes != 0) {
    refuse("COPY_REQUIRED",
           concat("the run copied ", run.copied_bytes, " bytes of inputs that are ",
                  "not aligned or on another device, which copy=False forbids"));
  }
  const ResultForm form = as_tensors ? ResultForm::tensors : ResultForm::arrays;
  if (run.outputs == nullptr) return object_of(runtime_, std::move(result), form);
  return targets.objects(runtime_, run.output_count, form);
}

void bind_model(nb::module_& module) {
  nb::class_<Module>(module, "Module", nb::type_slots(collected_slots<Module>))
      .def("function", find_function)
      .def("report", [](const Module& module_, std::string_view what) {
        return report_of(module_.runtime(), module_.object(), what);
      });
  nb::class_<Model>(module, "Model", nb::type_slots(collected_slots<Model>))
      .def(nb::init<const Module&, const nb::object&, std::uint32_t, bool, bool>(), nb::arg(),
           nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("functions", &Model::functions)
      .def("signature", &Model::signature)
      .def("report", &Model::report)
      .def("run", &Model::run, nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(),
           nb::arg(), nb::arg().none())
      .def_prop_ro("copied_bytes", &Model::copied_bytes);
}

}  // namespace gantry::python
