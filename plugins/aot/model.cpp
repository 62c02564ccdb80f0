// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include "core/formats/memory_image.hpp"

#include <gantry/concat.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <link.h>
#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::aot {
namespace {

struct Search {
  std::uint64_t address;
  bool is_found = false;
  std::uint64_t base = 0;
  std::vector<MemoryRange> ranges;
};

// Returns 1 to end the iteration.
int visit(dl_phdr_info* info, std::size_t, void* self) {
  Search& search = *static_cast<Search*>(self);
  search.ranges.clear();
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0) continue;
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    search.ranges.push_back(
        {begin, {reinterpret_cast<const std::uint8_t*>(begin), segment.p_memsz}});
    if (search.address - begin < segment.p_memsz) search.is_found = true;
  }
  search.base = info->dlpi_addr;
  return search.is_found ? 1 : 0;
}

// Returns the readable memory of the loaded library or program that contains an address.
//
// returns  MALFORMED  no library contains the address (AOT_METADATA)
// lifetime the image is valid as long as the library is loaded
// costs    O(loaded libraries)
Result<MemoryImage> memory_of_library(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), false, 0, {}};
  dl_iterate_phdr(&visit, &search);
  if (search.is_found) return MemoryImage(std::move(search.ranges), search.base);
  return malformed(no_offset, "metadata of the model are at ", Hex{search.address},
                   ", which is in no loaded library")
      .with_reason("AOT_METADATA");
}

}  // namespace

Result<AotMetadata> read_library_metadata(const Host& host, gantry_object* node,
                                          const gantry_env* env) {
  Result<ObjectRef> function = host.find(node, GANTRY_FIND_IMPORTS, aot_metadata_function);
  if (!function.ok()) {
    if (function.error().code != Code::not_found) return std::move(function).failure();
    return std::move(function).error().at(
        "the library does not describe its tensors: it was exported for TVM's C runtime; export it "
        "with the runtime cpp");
  }
  GANTRY_TRY(const Value address, host.call(function->get(), env, {}));
  if (address.kind() != GANTRY_POINTER) {
    return bug(quoted(aot_metadata_function), " returns ", kind_text(address.kind()),
               ", expected an address")
        .with_reason("RESULT_KIND");
  }
  const void* const pointer = address.get().p;
  GANTRY_TRY(const MemoryImage image, memory_of_library(pointer));
  return read_aot_metadata(image, reinterpret_cast<std::uintptr_t>(pointer));
}

Result<Model> find_model(const Host& host, gantry_object* node, const gantry_env* env) {
  Model model;
  GANTRY_TRY(model.metadata, read_library_metadata(host, node, env));
  GANTRY_TRY(model.function, host.find(node, GANTRY_FIND_IMPORTS, model.metadata.function()));
  return model;
}

}  // namespace gantry::aot
