// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include <utility>

namespace abacus {
namespace {

gantry::Status check_launch(const gantry::KernelCall& kernel) {
  GANTRY_CHECK(kernel.needs_grid_and_block_only("abacus"));
  if (kernel.tags().work_dimensions() == 1) return {};
  return gantry::unsupported("kernel ", gantry::quoted(kernel.name()), " is launched in ",
                             kernel.tags().work_dimensions(),
                             " dimensions, abacus devices have one")
      .with_reason("LAUNCH_TAG");
}

}  // namespace

gantry::Result<Payload> read_payload(gantry::Blob& blob) {
  gantry::ByteReader& in = blob.reader();
  GANTRY_TRY(const std::string_view format, in.read_string("abacus format"));
  if (format != "beads") {
    return gantry::unsupported("abacus: format is ", gantry::quoted(format), ", expected \"beads\"")
        .with_reason("BLOB_FORMAT");
  }
  GANTRY_TRY(const gantry::KernelTable table,
             gantry::read_kernel_table(blob, [](gantry::ByteReader& behind) {
               return behind.read_string("abacus programs");
             }));
  GANTRY_TRY(const std::string_view text, in.read_string("abacus programs"));
  GANTRY_TRY(std::vector<Program> programs, read_programs(text, in.offset() - text.size(), table));

  Payload payload;
  payload.kept = blob.keep();
  for (Program& program : programs) {
    GANTRY_TRY(gantry::KernelCall call, gantry::KernelCall::parse(*table.find(program.name)));
    GANTRY_CHECK(check_launch(call));
    payload.kernels.push_back({std::move(call), std::move(program.steps)});
  }
  return payload;
}

}  // namespace abacus
