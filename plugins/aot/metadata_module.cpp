// SPDX-License-Identifier: Apache-2.0
#include "metadata_module.hpp"

#include "functions.hpp"
#include "model.hpp"
#include "plugin.hpp"

#include <utility>
#include <vector>

namespace gantry::aot {

Result<std::unique_ptr<MetadataModule>> MetadataModule::load(Plugin& plugin, Blob& blob) {
  return std::make_unique<MetadataModule>(plugin.host, blob.node());
}

Result<Value> MetadataModule::get_metadata(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  GANTRY_TRY(const AotMetadata metadata, read_library_metadata(host_, node_, call.env));
  std::vector<Host::Entry> entries;
  const auto add = [&](std::string_view name, Result<Value> value) -> Status {
    GANTRY_TRY(Value key, host_.text(name));
    GANTRY_TRY(Value content, std::move(value));
    entries.emplace_back(std::move(key), std::move(content));
    return {};
  };
  GANTRY_CHECK(add("module_name", host_.text(metadata.module_name)));
  GANTRY_CHECK(add("inputs", info_of(host_, metadata.inputs)));
  GANTRY_CHECK(add("outputs", info_of(host_, metadata.outputs)));
  GANTRY_CHECK(add("workspaces", info_of(host_, metadata.workspaces)));
  return host_.map(entries);
}

}  // namespace gantry::aot
