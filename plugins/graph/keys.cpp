// SPDX-License-Identifier: Apache-2.0
//
// What the functions of inputs, outputs and nodes share.
#include "functions.hpp"

namespace gantry::graph {

Result<std::uint32_t> index_of(const Call& call, const gantry_value& key, std::string_view what,
                               std::size_t count) {
  const auto index = value_int(key);
  if (!index) return call.refuse("key is ", kind_text(key.kind), ", expected a name or an index");
  if (*index >= 0 && static_cast<std::uint64_t>(*index) < count)
    return static_cast<std::uint32_t>(*index);
  return call.refuse(what, " index is ", *index, ", ", what, " count is ", count);
}

Status check_binding(const Executor& executor, std::uint32_t entry, const gantry_tensor& tensor,
                     Binding binding) {
  GANTRY_CHECK(executor.memory().check_fits(entry, tensor));
  const Binding found = executor.memory().binding(entry);
  const bool bound = found.owner == Owner::input || found.owner == Owner::output;
  if (!bound || found == binding) return {};
  const std::string title = found.owner == Owner::input ? input_title(executor, found.key)
                                                        : output_title(executor, found.key);
  return invalid(title, " is the same value and is bound already, a value has one memory")
      .with_reason("ZERO_COPY");
}

}  // namespace gantry::graph
