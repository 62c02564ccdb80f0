// SPDX-License-Identifier: Apache-2.0
//
// The content of a cache of parsed manifests, and each of its files as a manifest and as a drop-in.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/base/yaml/yaml_bytes.hpp"
#include "core/plugins/manifest/drop_in.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "core/plugins/manifest/manifest_cache.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// As in a process that finds the values kept. Locations of a damaged cache are outside of the input,
// so the offset of an error is not compared with its size.
void use(const YamlDocument& document) {
  const auto manifest = read_manifest(document, "/m");
  if (manifest.ok()) {
    expect(check_plugin_id(manifest->id).empty(), "an id is valid");
    expect(manifest->library_path.starts_with("/"), "the library's path is absolute");
    Manifest changed = *manifest;
    if (apply_drop_in(document, changed).ok())
      expect(changed.id == manifest->id, "a drop-in does not change the id");
  } else {
    expect(!manifest.error().message.empty(), "a refusal has a text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // As manifest_fuzz.cpp. A list can state as many values as fit into the bytes that are left, each of
  // which takes 112 bytes instead of 9, on each of 16 levels.
  const Budget budget(size, {.bytes_per_input_byte = 512, .nanoseconds_per_input_byte = 1500});
  const auto kept = read_kept_manifests({data, size});
  if (!kept.ok()) return expect_refusal(kept.error(), size);
  expect(text_of(data, size) == to_bytes(*kept), "what is read is written again");
  for (const auto& [path, file] : *kept) {
    ByteReader in(file.values);
    auto root = read_yaml_bytes(in);
    if (!root.ok()) {
      expect_refusal(root.error(), file.values.size());
      continue;
    }
    expect(text_of(file.values.data(), in.offset()) == yaml_bytes(*root),
           "a value that is read is written again");
    use({std::string(path), *std::move(root)});
  }
  return 0;
}
