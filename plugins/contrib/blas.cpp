// SPDX-License-Identifier: Apache-2.0
#include "blas.hpp"

#include <gantry/library.hpp>

#include <optional>

namespace gantry::contrib {
namespace {

std::optional<Blas> opened() {
  for (const char* name : {"libopenblas.so.0", "libblas.so.3"}) {
    const auto library = Library::open("BLAS", {name});
    if (!library.ok()) continue;
    Blas found;
    found.name = name;
    if (library->bind({required("cblas_sgemm", found.sgemm), required("cblas_dgemm", found.dgemm)})
            .ok())
      return found;
  }
  return std::nullopt;
}

}  // namespace

const Blas* blas() {
  static const std::optional<Blas> library = opened();
  return library ? &*library : nullptr;
}

}  // namespace gantry::contrib
