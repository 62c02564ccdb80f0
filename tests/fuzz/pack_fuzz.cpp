// SPDX-License-Identifier: Apache-2.0
//
// Any module graph: core/writing writes it, core/formats reads it, and the result must be equal.
//
//     u8 modules; for each: u8 kind, u8 imports, u8 import..., and for device modules u8 bytes,
//     byte...
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_file.hpp"

#include "core/formats/container.hpp"
#include "core/writing/container.hpp"

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

struct Module {
  // empty: CPU code
  std::string key;
  std::vector<std::size_t> imports;
  std::string content;
};

std::vector<Module> modules_from(Choices& choices) {
  std::vector<Module> modules(choices.below(12) + 1);
  for (Module& module : modules) {
    constexpr std::string_view keys[] = {"", "examplejson", "dnnl_json", "metadata_module", "cuda"};
    module.key = keys[choices.below(std::size(keys))];
    module.imports.resize(choices.below(6));
    for (std::size_t& import : module.imports) import = choices.below(modules.size() + 1);
    const auto content = choices.take_bytes(choices.below(64));
    module.content = text_of(content.data(), content.size());
  }
  return modules;
}

// A payload in the layout of the module's type key, with any content.
Status write_payload(const Module& module, Pieces& out) {
  if (module.key == "examplejson") {
    out.write_text(module.content);
  } else if (module.key == "dnnl_json") {
    out.write_text(module.content);
    out.write_text("{}");
    out.Write<std::uint64_t>(0);
  } else if (module.key == "cuda") {
    out.write_text("ptx");
    out.Write<std::uint64_t>(0);
    out.write_text(module.content);
  }
  return {};
}

std::vector<ContainerModule> described(const std::vector<Module>& modules) {
  std::vector<ContainerModule> all;
  for (const Module& module : modules) {
    all.push_back({module.key, module.imports,
                   [&module](Pieces& out) { return write_payload(module, out); }});
  }
  return all;
}

void compare(const Container& container, const std::vector<Module>& modules) {
  std::vector<IndexNode> nodes;
  for (const Module& module : modules) nodes.push_back({module.key, module.imports});
  const ModuleIndex index = index_merged(nodes).value();
  if (modules.front().key.empty() && modules.front().imports.empty()) {
    expect(container.entries.size() == 1, "a container without a tree has one entry");
    return;
  }
  expect(container.entries.size() == index.entries.size(), "as many entries as were written");
  expect(std::ranges::equal(container.tree.rows(), index.row_ptr),
         "rows are read as they were written");
  expect(std::ranges::equal(container.tree.edges(), index.child),
         "edges are read as they were written");
  for (std::size_t e = 0; e < index.entries.size(); ++e) {
    const Entry& entry = container.entries[e];
    const Module& module = modules[index.entries[e].front()];
    if (module.key.empty()) {
      expect(entry.is_library(), "CPU code is _lib");
      continue;
    }
    Pieces payload;
    expect(write_payload(module, payload).ok(), "a payload can be written");
    expect(entry.type_key == module.key, "a key is read as it was written");
    expect(entry.boundary == Boundary::laid_out || entry.boundary == Boundary::exact,
           "the end of a payload is known, not guessed");
    expect(entry.payload.size() == payload.size(), "a payload has the written size");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  // The model in memory, 12 modules of 200 bytes, is larger than the bytes that describe it.
  const Budget budget(size, {.bytes_per_input_byte = 64});
  Choices choices({data, size});
  const std::vector<Module> modules = modules_from(choices);
  const auto written = write_container(described(modules));
  if (!written.ok()) return expect_refusal(written.error(), no_offset);

  MemoryStream out;
  expect(written->write_to(out).ok(), "pieces in memory can be written");
  expect(out.bytes.size() == written->size(), "the number of written bytes is size()");
  const auto container = read_container_bytes(out.bytes, layouts);
  if (!container.ok())
    expect(false, "reader refuses what the writer wrote: " + container.error().message.text());
  compare(*container, modules);
  return 0;
}
