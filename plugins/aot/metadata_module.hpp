// SPDX-License-Identifier: Apache-2.0
//
// The module between a factory and its library (metadata_module, v0.9 to v0.19). Its payload is
// empty: the description is in the library.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/loader.hpp>

#include <array>
#include <memory>

namespace gantry::aot {

struct Plugin;

class MetadataModule {
 public:
  static constexpr LoaderIdentity identity{.type_key = "metadata_module", .is_parallel = true};
  static Result<std::unique_ptr<MetadataModule>> load(Plugin& plugin, Blob& blob);

  MetadataModule(Host host, gantry_object* node) : host_(host), node_(node) {}

  static constexpr auto functions() {
    return std::array{method<&MetadataModule::get_metadata, "get_metadata()">};
  }
  Status save(const Sink&) const { return {}; }

  // Returns a map: "module_name" and, as get_input_info does of an executor, "inputs", "outputs" and
  // "workspaces".
  Result<Value> get_metadata(const Call& call) const;

 private:
  Host host_;
  gantry_object* node_;
};

}  // namespace gantry::aot
