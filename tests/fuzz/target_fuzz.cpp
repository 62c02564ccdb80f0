// SPDX-License-Identifier: Apache-2.0
//
// A target in either form. What is accepted is printed in both forms, and both read back as the same
// target.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/target/target.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// The kinds of the host, and one with an option of every type, attributes and a tag.
TargetKinds fuzz_kinds() {
  TargetKind kind{.name = "npu", .device = "npu", .device_type = 12, .keys = {"npu"}};
  kind.options.resize(4);
  kind.options[0].name = "arch";
  kind.options[0].attribute = "compute_version";
  kind.options[0].spelling = "v*";
  kind.options[1].name = "cores";
  kind.options[1].type = TargetType::integer;
  kind.options[1].fallback.emplace(std::int64_t{4});
  kind.options[1].attribute = "multiprocessors";
  kind.options[2].name = "fast";
  kind.options[2].type = TargetType::boolean;
  kind.options[3].name = "mattr";
  kind.options[3].type = TargetType::list;
  TargetTag& edge = kind.tags.emplace_back();
  edge.name = "acme/edge";
  edge.values.emplace_back("arch", std::string("v21"));
  edge.values.emplace_back("cores", std::int64_t{2});
  TargetKinds kinds;
  kinds.add(std::move(kind), "acme.npu");
  return kinds;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TargetKinds kinds = fuzz_kinds();
  const Budget budget(size, {.bytes_per_input_byte = 512, .nanoseconds_per_input_byte = 1500});
  const DeviceAttributes attributes = [](std::string_view, std::int64_t index,
                                         std::string_view) -> Result<std::optional<std::string>> {
    return std::optional<std::string>(std::to_string(index));
  };
  const Result<CompileTarget> target = parse_target(text_of(data, size), kinds, attributes);
  if (!target.ok()) return expect_refusal(target.error(), size);

  expect(kinds.find(target->kind) != nullptr, "the kind is known");
  expect(target->host.size() <= 1, "there is at most one host");
  const std::string text = target_text(*target);
  const std::string json = target_json(*target);
  // The printed forms contain defaults and escapes, and may exceed the limit.
  if (text.size() <= max_target_bytes) {
    const Result<CompileTarget> read_back = parse_target(text, kinds);
    expect(read_back.ok() && *read_back == *target, "the text form reads back as the same target");
  }
  if (json.size() <= max_target_bytes) {
    const Result<CompileTarget> read_back = parse_target(json, kinds);
    expect(read_back.ok() && target_json(*read_back) == json, "the JSON reads back as the same");
  }
  return 0;
}
