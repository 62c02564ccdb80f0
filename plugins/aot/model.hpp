// SPDX-License-Identifier: Apache-2.0
//
// What the library of a model contains: the description of its tensors, and its function.
#pragma once

#include "core/formats/aot_metadata.hpp"

#include <gantry/handle.hpp>

namespace gantry::aot {

// Calls get_c_metadata of the imports and reads what it returns.
//
// node     [in]   of a module that imports the library, borrowed
// returns  NOT_FOUND   no import has the function
//          BUG         it returns something else than an address (RESULT_KIND)
//          others      of read_aot_metadata()
// lifetime views are those of the library's memory, valid as long as the node
Result<AotMetadata> read_library_metadata(const Host& host, gantry_object* node,
                                          const gantry_env* env);

struct Model {
  AotMetadata metadata;
  // <name of the module>___tvm_main__
  ObjectRef function;
};

// returns  NOT_FOUND  no import has the model's function
//          others     of read_library_metadata()
Result<Model> find_model(const Host& host, gantry_object* node, const gantry_env* env);

}  // namespace gantry::aot
