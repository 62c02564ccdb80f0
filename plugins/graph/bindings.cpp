// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

namespace gantry::graph {

Status check_unbound(const Executor& executor, std::uint32_t entry, Binding wanted) {
  const Binding found = executor.memory().binding(entry);
  const bool bound = found.owner == Owner::input || found.owner == Owner::output;
  if (!bound || found == wanted) return {};
  const std::string title = found.owner == Owner::input ? input_title(executor, found.key)
                                                        : output_title(executor, found.key);
  return invalid(title, " is the same value and is bound already, one value lies in one memory")
      .with_reason("ZERO_COPY");
}

}  // namespace gantry::graph
