// SPDX-License-Identifier: Apache-2.0
//
// A plugin's manifest, the same text as a drop-in of a valid manifest, and the options of both.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/plugins/manifest/config_values.hpp"
#include "core/plugins/manifest/drop_in.hpp"
#include "core/plugins/manifest/manifest.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

constexpr std::string_view right = R"(schema: "1.0"
id: test.fake
version: "1.0.0"
library: libfake.so
abi: {major: 1, min_minor: 0, max_minor: 0}
keys: [{key: fake}]
env_allow: [HOME]
)";

void resolve(const Manifest& manifest, std::size_t size) {
  const ConfigLocations locations{
      "/m", "/l", "/s", [](const std::string&) -> std::optional<std::string> { return "value"; }};
  std::vector<Message> warnings;
  const auto values = resolve_config(manifest, {}, locations, warnings);
  if (!values.ok()) {
    expect_refusal(values.error(), size);
    return;
  }
  for (const ConfigValue& value : *values) (void)display_text(value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Manifest base = read_manifest(right, "/m/fake.yaml").value();
  // As config_fuzz.cpp.
  const Budget budget(size, {.bytes_per_input_byte = 512, .nanoseconds_per_input_byte = 1500});
  const std::string_view text = text_of(data, size);
  const auto manifest = read_manifest(text, "/m/fake.yaml");
  if (manifest.ok()) {
    expect(check_plugin_id(manifest->id).empty(), "an id is valid");
    expect(manifest->library_path.starts_with("/"), "the library's path is absolute");
    expect(!manifest->title().empty(), "a manifest has a title");
    resolve(*manifest, size);
  } else {
    expect_refusal(manifest.error(), size);
  }

  Manifest changed = base;
  const Status applied = apply_drop_in(text, "/m/fake.yaml.d/1.yaml", changed);
  if (!applied.ok()) return expect_refusal(applied.error(), size);
  expect(changed.id == base.id && changed.library_path == base.library_path,
         "a drop-in does not change id or library");
  resolve(changed, size);
  return 0;
}
