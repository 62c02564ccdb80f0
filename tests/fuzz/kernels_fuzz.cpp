// SPDX-License-Identifier: Apache-2.0
//
// A device payload after its format field, read with the SDK: table of kernels, then data. The
// table is written back unchanged, core/formats finds the same end, and the launch tags give the
// dimensions of an empty launch.
//
//     byte 0   0 without argument tags, 1 with, 2 either
//     rest     table, data
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/payload_frame.hpp"

#include <gantry/launch_tags.hpp>

#include <dmlc/serializer.h>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

using Bytes = std::vector<std::uint8_t>;

Status read_data(ByteReader& in) {
  GANTRY_CHECK(in.read_string("data"));
  if (!in.at_end()) return malformed(in.offset(), "bytes follow the data");
  return {};
}

// The plugin reads the payload after its format field.
void compare(std::span<const std::uint8_t> payload, const KernelTable& table) {
  MemoryStream whole;
  whole.Write(std::string("ptx"));
  whole.bytes.insert(whole.bytes.end(), payload.begin(), payload.end());
  expect_measured("cuda", whole.bytes, table);
}

void launch(const KernelInfo& kernel, std::size_t size) {
  const auto tags = parse_launch_tags(kernel.launch_tags, kernel.name);
  if (!tags.ok()) {
    expect_refusal(tags.error(), size);
    return;
  }
  gantry_value zero{};
  zero.kind = GANTRY_INT;
  const std::vector<gantry_value> zeros(tags->argument_count(), zero);
  expect(tags->work_dimensions() >= 1 && tags->work_dimensions() <= 3, "1 to 3 dimensions");
  const auto extents = tags->extents(zeros);
  expect(extents.ok() && extents->grid[0] == 1, "an extent of 0 is 1");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, device_payload_cost);
  Choices choices({data, size});
  const auto tags = static_cast<ArgumentTags>(choices.below(3));
  const auto payload = choices.rest();
  ByteReader in(payload);
  const auto table = read_kernel_table(in, tags, read_data);
  if (!table.ok()) return expect_refusal(table.error(), payload.size());

  MemoryStream written;
  write_kernel_table(written, *table);
  expect(std::ranges::equal(written.bytes, payload.first(in.offset())),
         "a table is written back unchanged");
  for (const KernelInfo& kernel : table->kernels()) {
    expect(table->find(kernel.name) == &kernel, "a kernel is found by its name");
    launch(kernel, payload.size());
  }
  if (read_data(in).ok()) compare(payload, *table);
  return 0;
}
