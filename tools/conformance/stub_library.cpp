// SPDX-License-Identifier: Apache-2.0
//
//     Elf64_Ehdr | 3 Elf64_Phdr | dynamic segment | null symbol | hash table | names
//
// One segment at address 0 contains the file.
#include "tools/conformance/stub_library.hpp"

#include "tools/conformance/case.hpp"

#include <gantry/descriptor.hpp>

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

namespace gantry::kit {
namespace {

// The largest page size of the supported machines.
constexpr Elf64_Xword kAlignment = 0x10000;

constexpr std::size_t kEntries = 7;

struct Image {
  Elf64_Ehdr header;
  Elf64_Phdr segments[3];
  Elf64_Dyn dynamic[kEntries];
  Elf64_Sym symbols[1];
  // buckets, chains, bucket 0, chain 0
  Elf64_Word hash[4];
};

Image image_of(std::size_t names_bytes) {
  Image image{};
  Elf64_Ehdr& header = image.header;
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
#ifdef __aarch64__
  header.e_machine = EM_AARCH64;
#else
  header.e_machine = EM_X86_64;
#endif
  header.e_version = EV_CURRENT;
  header.e_phoff = offsetof(Image, segments);
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = std::size(image.segments);
  const auto segment = [](Elf64_Word type, Elf64_Off at, Elf64_Xword size) {
    return Elf64_Phdr{type, PF_R | PF_W, at, at, at, size, size, 8};
  };
  image.segments[0] = segment(PT_LOAD, 0, sizeof image + names_bytes);
  image.segments[0].p_align = kAlignment;
  image.segments[1] = segment(PT_DYNAMIC, offsetof(Image, dynamic), sizeof image.dynamic);
  // Without it, the linker makes the stack executable.
  image.segments[2] = segment(PT_GNU_STACK, 0, 0);
  const std::pair<Elf64_Sxword, Elf64_Xword> entries[] = {
      {DT_SONAME, 1},
      {DT_HASH, offsetof(Image, hash)},
      {DT_SYMTAB, offsetof(Image, symbols)},
      {DT_SYMENT, sizeof(Elf64_Sym)},
      {DT_STRTAB, sizeof image},
      {DT_STRSZ, names_bytes},
      {DT_NULL, 0},
  };
  static_assert(std::size(entries) == kEntries);
  for (std::size_t i = 0; i < std::size(entries); ++i) {
    image.dynamic[i].d_tag = entries[i].first;
    image.dynamic[i].d_un.d_val = entries[i].second;
  }
  image.hash[0] = image.hash[1] = 1;
  return image;
}

}  // namespace

std::vector<std::uint8_t> stub_library(std::string_view soname) {
  // Names: an empty one and that of the library, each with its end.
  const Image image = image_of(soname.size() + 2);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(&image);
  std::vector<std::uint8_t> bytes(first, first + sizeof image);
  bytes.push_back(0);
  bytes.insert(bytes.end(), soname.begin(), soname.end());
  bytes.push_back(0);
  return bytes;
}

Status open_stub_library(std::string_view soname) {
  const std::string name(soname);
  if (::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr)
    return not_run(name, " is open in this process");
  const std::vector<std::uint8_t> bytes = stub_library(soname);
  const Descriptor memory(::memfd_create("gantry-conformance", MFD_CLOEXEC));
  if (::write(memory.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return not_run("cannot create a file in memory: ", std::strerror(errno));
  const std::string path = concat("/proc/self/fd/", memory.get());
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    return not_run("cannot open a library without symbols: ", ::dlerror());
  return {};
}

}  // namespace gantry::kit
