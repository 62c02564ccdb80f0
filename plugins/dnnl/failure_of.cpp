// SPDX-License-Identifier: Apache-2.0
#include "failure_of.hpp"

#include <cstdint>

namespace gantry::dnnl_plugin {

std::string library_text() {
  const dnnl_version_t* const version = dnnl_version();
  return concat("oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

Failure failure_of(dnnl_status_t status, std::string_view what, std::uint64_t at) {
  switch (status) {
    case dnnl_out_of_memory:
      return exhausted(what, ": ", library_text(), " has no memory").with_reason("MEMORY");
    case dnnl_unimplemented:
      return unsupported(what, ": ", library_text(),
                         " has no implementation for these types and shapes")
          .with_reason("SUBGRAPH_OPERATOR")
          .native("DNNL", status);
    case dnnl_invalid_arguments:
      return malformed(at, what, ": shapes and attributes do not fit together")
          .with_reason("SUBGRAPH")
          .native("DNNL", status);
    default:
      break;
  }
  return unavailable(what, ": ", library_text(), " failed with status ", std::int32_t{status})
      .with_reason("DRIVER_CALL")
      .native("DNNL", status);
}

}  // namespace gantry::dnnl_plugin
