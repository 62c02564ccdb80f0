// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include "library_memory.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::aot {

Result<AotMetadata> read_library_metadata(const Host& host, gantry_object* node,
                                          const gantry_env* env) {
  Result<ObjectRef> function = host.find(node, GANTRY_FIND_IMPORTS, aot_metadata_function);
  if (!function.ok()) {
    if (function.error().code != Code::not_found) return std::move(function).failure();
    return std::move(function).error().at(
        "the library does not describe its tensors: it was exported for TVM's C runtime; export it "
        "with the runtime cpp");
  }
  GANTRY_TRY(const Value address, host.call(function->get(), env, {}));
  if (address.kind() != GANTRY_POINTER) {
    return bug(quoted(aot_metadata_function), " returns ", kind_text(address.kind()),
               ", expected an address")
        .with_reason("RESULT_KIND");
  }
  const void* const pointer = address.get().p;
  GANTRY_TRY(const MemoryImage image, memory_of_library(pointer));
  return read_aot_metadata(image, reinterpret_cast<std::uintptr_t>(pointer));
}

Result<Model> find_model(const Host& host, gantry_object* node, const gantry_env* env) {
  Model model;
  GANTRY_TRY(model.metadata, read_library_metadata(host, node, env));
  GANTRY_TRY(model.function, host.find(node, GANTRY_FIND_IMPORTS, model.metadata.function()));
  return model;
}

}  // namespace gantry::aot
