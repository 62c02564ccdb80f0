// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/payload_text.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/value.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace gantry {

Result<std::string> payload_text(RuntimeState& state, std::shared_ptr<const Artifact> artifact,
                                 std::size_t entry) {
  const Entry& payload = artifact->container.entries[entry];
  const auto read = [&]() -> Result<std::string> {
    GANTRY_TRY(const auto server, state.plugins->for_key(payload.type_key));
    GANTRY_TRY(const Ref<ModuleNode> node, new_module_node(artifact, payload.type_key, entry));
    GANTRY_CHECK(PayloadLoader(state, server, *artifact, payload.type_key).load(payload, *node));
    GANTRY_TRY(const Ref<FunctionObject> function,
               find_function(*node, GANTRY_FIND_SELF, "as_text"));
    GANTRY_TRY(const Value value, call(*function, nullptr, {}));
    const std::optional<std::string_view> text = value_text(value.get());
    if (!text) return bug("as_text returns ", kind_text(value.get().kind), ", expected a string");
    return std::string(*text);
  };
  auto text = read();
  if (!text.ok())
    return std::move(text).error().at("while reading the code of ",
                                      location_of_entry(entry, payload.type_key, artifact->name));
  return text;
}

}  // namespace gantry
