// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "api.hpp"

namespace gantry::python {

// A loaded artifact, or a module that it imports.
class Module {
 public:
  Module(RuntimeRef runtime, OwnedObject object)
      : runtime_(std::move(runtime)), object_(std::move(object)) {}

  const RuntimeRef& runtime() const { return runtime_; }
  gantry_object* object() const { return object_.get(); }

 private:
  RuntimeRef runtime_;
  OwnedObject object_;
};

// A model on its devices.
class Model {
 public:
  // throws   gantry.Error, see gantry_embed::model_new
  Model(const Module& module, const nanobind::object& devices, std::uint32_t executors,
        bool captures, bool prepares);

  // Returns the names of the functions.
  nanobind::object functions() const;

  // Returns the name of the function, its inputs, and its outputs or None: for each parameter
  // (name, kind, type, dtype, shape).
  nanobind::tuple signature(std::string_view function) const;

  // Runs a function.
  //
  // names    [in]   of the inputs, or None: in order
  // inputs   [in]   a tuple
  // outputs  [in]   a tuple of arrays to fill and None; or None: all outputs are new
  // timeout  [in]   seconds, or None
  // returns  a tuple of all outputs
  nanobind::object run(std::string_view function, const nanobind::object& names,
                       const nanobind::tuple& inputs, const nanobind::object& outputs,
                       bool may_copy, bool as_tensors, const nanobind::object& timeout);

  // Returns a report of the model, see report_of().
  nanobind::object report(std::string_view what) const;

  const RuntimeRef& runtime() const { return runtime_; }
  std::uint64_t copied_bytes() const { return copied_bytes_.load(std::memory_order_relaxed); }

 private:
  RuntimeRef runtime_;
  OwnedObject object_;
  std::atomic<std::uint64_t> copied_bytes_{0};
};

// Adds the classes Module and Model, which gantry.Model uses, to the module.
void bind_model(nanobind::module_& module);

}  // namespace gantry::python
