// SPDX-License-Identifier: Apache-2.0
//
// The content of a plugin's note (gantry/note.h), compared with a manifest.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/plugins/library/plugin_note.hpp"

#include <vector>

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const auto note = parse_plugin_note({data, size}, "/x.so");
  if (!note.ok()) return expect_refusal(note.error(), size);
  expect(check_plugin_id(note->id).empty(), "the id is valid");
  expect(Version::parse(note->version).ok(), "the version is valid");

  // Later versions append members.
  std::vector<std::uint8_t> longer(data, data + size);
  longer.resize(size + 16, 0xff);
  const auto again = parse_plugin_note(longer, "/x.so");
  expect(again.ok() && again->id == note->id && again->version == note->version,
         "a longer note has the same identity");

  Manifest manifest;
  manifest.id = note->id;
  manifest.version.text = note->version;
  manifest.abi = {note->abi.major, note->abi.min_minor, note->abi.max_minor};
  const Status fits = check_note(*note, manifest, NoteHost{{1, 0, 3, 0}, 0, 1});
  if (fits.ok()) expect(note->abi.major == 1 && note->isa <= 1, "the note fits the host");
  return 0;
}
