// SPDX-License-Identifier: Apache-2.0
//
// The C API for embedders, and owners of what it returns.
#pragma once

#include <gantry/embed.h>
#include <gantry/object_ref.hpp>
#include <gantry/value.hpp>

#include <nanobind/nanobind.h>

#include <utility>

namespace gantry::python {

inline const gantry_embed& embed() {
  static const gantry_embed& table = *gantry_embed_query_v1();
  return table;
}

// Releases a reference. The last one may end a runtime, whose threads may wait for the interpreter
// to write their log, so other threads of Python run meanwhile.
//
// object   [in]   may be NULL
// thread   holds the GIL
void release(gantry_object* object) noexcept;

struct ReleaseWithoutGil {
  static void release(gantry_object* object) noexcept { python::release(object); }
};
// thread   are destroyed with the GIL held
using OwnedObject = BasicObjectRef<ReleaseWithoutGil>;
using OwnedValue = BasicValue<ReleaseWithoutGil>;

// A runtime and its functions for values, tensors and devices.
struct RuntimeHandle {
  OwnedObject runtime;
  const gantry_host* host;
};

// A reference to the object of Python that has a runtime. Every object of Python that keeps an object
// of the runtime has one, so the cyclic garbage collector finds all users of the runtime.
//
// thread   is copied and destroyed with the GIL held
class RuntimeRef {
 public:
  // handle   [in]   of the owner
  RuntimeRef(nanobind::object owner, const RuntimeHandle* handle)
      : owner_(std::move(owner)), handle_(handle) {}

  const RuntimeHandle* operator->() const { return handle_; }
  PyObject* owner() const { return owner_.ptr(); }

 private:
  nanobind::object owner_;
  const RuntimeHandle* handle_;
};

}  // namespace gantry::python
