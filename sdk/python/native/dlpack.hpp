// SPDX-License-Identifier: Apache-2.0
//
// Capsules of DLPack. The core converts the tensors in them.
//
// source   https://dmlc.github.io/dlpack/latest/python_spec.html
#pragma once

namespace gantry::python::dlpack {

// Names of capsules. A consumer renames a capsule that it has taken over.
constexpr const char* managed_name = "dltensor";
constexpr const char* used_managed_name = "used_dltensor";
constexpr const char* versioned_name = "dltensor_versioned";
constexpr const char* used_versioned_name = "used_dltensor_versioned";

// The version that this package requests and returns, as the C API encodes it.
constexpr unsigned version = 1u << 16;

}  // namespace gantry::python::dlpack
