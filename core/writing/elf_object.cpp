// SPDX-License-Identifier: Apache-2.0
#include "core/writing/elf_object.hpp"

#include "core/writing/free_program_header.hpp"

#include <gantry/quoted.hpp>

#include <elf.h>

#include <bit>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

constexpr std::uint64_t largest_small_data = std::uint64_t{1} << 30;
// SHF_X86_64_LARGE
constexpr std::uint64_t large_section = 0x10000000;

// One relocation of the constructor.
struct CodeRelocation {
  enum class Target : std::uint8_t { name, container, register_function };

  std::uint64_t at;
  std::uint32_t type;
  Target target;
  std::int64_t addend;
};

// void constructor(void) { register_function(name, container); }
//
// It loads the container's address from the table of addresses (GOT), so that it works in a
// program, in a library and at any distance.
struct Constructor {
  std::string_view code;
  std::span<const CodeRelocation> relocations;
  // type of the relocation in .init_array
  std::uint32_t address_type;
};

using Target = CodeRelocation::Target;

// endbr64; lea name(%rip), %rdi; mov container@GOTPCREL(%rip), %rsi; jmp register_function@PLT
constexpr std::string_view code_on_x86_64(
    "\xf3\x0f\x1e\xfa\x48\x8d\x3d\0\0\0\0\x48\x8b\x35\0\0\0\0\xe9\0\0\0\0", 23);
constexpr CodeRelocation relocations_on_x86_64[] = {
    {7, R_X86_64_PC32, Target::name, -4},
    {14, R_X86_64_GOTPCREL, Target::container, -4},
    {19, R_X86_64_PLT32, Target::register_function, -4},
};

// bti c; adrp x0, name; add x0, x0, :lo12:name; adrp x1, :got:container;
// ldr x1, [x1, :got_lo12:container]; b register_function
constexpr std::string_view code_on_aarch64(
    "\x5f\x24\x03\xd5\x00\x00\x00\x90\x00\x00\x00\x91\x01\x00\x00\x90\x21\x00\x40\xf9"
    "\x00\x00\x00\x14",
    24);
constexpr CodeRelocation relocations_on_aarch64[] = {
    {4, R_AARCH64_ADR_PREL_PG_HI21, Target::name, 0},
    {8, R_AARCH64_ADD_ABS_LO12_NC, Target::name, 0},
    {12, R_AARCH64_ADR_GOT_PAGE, Target::container, 0},
    {16, R_AARCH64_LD64_GOT_LO12_NC, Target::container, 0},
    {20, R_AARCH64_JUMP26, Target::register_function, 0},
};

Constructor constructor_on(ElfMachine machine) {
  if (machine == ElfMachine::aarch64) {
    return {code_on_aarch64, relocations_on_aarch64, R_AARCH64_ABS64};
  }
  return {code_on_x86_64, relocations_on_x86_64, R_X86_64_64};
}

// A text table, in which offset 0 is the empty text.
class Texts {
 public:
  std::uint32_t add(std::string_view text) {
    const auto at = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(text).push_back('\0');
    return at;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t alignment = 1;
  Pieces content;
  std::uint32_t link = 0, info = 0;
  std::uint64_t entry_bytes = 0;
};

void pad_to(Pieces& out, std::uint64_t size) { out.write_zeros(size - out.size()); }

// The sections of an object file, in order; 0 is the null section.
class Sections {
 public:
  std::uint32_t add(Section section) {
    sections_.push_back(std::move(section));
    return static_cast<std::uint32_t>(sections_.size());
  }

  // Index of the section that is added next.
  std::uint32_t next() const { return static_cast<std::uint32_t>(sections_.size()) + 1; }

  Pieces write(ElfMachine machine) && {
    Texts names;
    std::vector<std::uint32_t> names_at;
    const std::string_view own_name = ".shstrtab";
    const std::uint32_t own = add({own_name, SHT_STRTAB, 0, 1, Pieces()});
    for (const Section& section : sections_) names_at.push_back(names.add(section.name));
    sections_.back().content = pieces_of(names.bytes());

    std::uint64_t end = sizeof(Elf64_Ehdr);
    for (const Section& section : sections_) {
      end = align_up(end, section.alignment) + section.content.size();
    }
    const std::uint64_t table_at = align_up(end, alignof(Elf64_Shdr));
    Pieces out;
    const Elf64_Ehdr header = header_of(machine, table_at, own);
    out.Write(&header, sizeof header);

    std::vector<Elf64_Shdr> table(1);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      Section& section = sections_[i];
      pad_to(out, align_up(out.size(), section.alignment));
      table.push_back({names_at[i], section.type, section.flags, 0, out.size(),
                       section.content.size(), section.link, section.info, section.alignment,
                       section.entry_bytes});
      out.append(std::move(section.content));
    }
    pad_to(out, table_at);
    out.Write(table.data(), table.size() * sizeof(Elf64_Shdr));
    return out;
  }

 private:
  Elf64_Ehdr header_of(ElfMachine machine, std::uint64_t table_at, std::uint32_t names) const {
    Elf64_Ehdr header{};
    header.e_ident[EI_MAG0] = ELFMAG0;
    header.e_ident[EI_MAG1] = ELFMAG1;
    header.e_ident[EI_MAG2] = ELFMAG2;
    header.e_ident[EI_MAG3] = ELFMAG3;
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = static_cast<std::uint16_t>(machine);
    header.e_version = EV_CURRENT;
    header.e_shoff = table_at;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(sections_.size() + 1);
    header.e_shstrndx = static_cast<std::uint16_t>(names);
    return header;
  }

  std::vector<Section> sections_;
};

// The symbol table; local symbols are added first.
class Symbols {
 public:
  std::uint32_t add(std::string_view name, unsigned char binding, unsigned char type,
                    std::uint32_t section, std::uint64_t size = 0) {
    const auto index = static_cast<std::uint32_t>(table_.size());
    if (binding == STB_LOCAL) locals_ = index + 1;
    table_.push_back({name.empty() ? 0 : names_.add(name),
                      static_cast<unsigned char>(ELF64_ST_INFO(binding, type)), STV_DEFAULT,
                      static_cast<std::uint16_t>(section), 0, size});
    return index;
  }

  // Adds the sections of the symbols and of their names.
  void add_to(Sections& sections) const {
    Pieces table;
    table.Write(table_.data(), table_.size() * sizeof(Elf64_Sym));
    sections.add({".symtab", SHT_SYMTAB, 0, 8, std::move(table), sections.next() + 1, locals_,
                  sizeof(Elf64_Sym)});
    sections.add({".strtab", SHT_STRTAB, 0, 1, pieces_of(names_.bytes())});
  }

 private:
  Texts names_;
  std::vector<Elf64_Sym> table_ = std::vector<Elf64_Sym>(1);
  std::uint32_t locals_ = 1;
};

// The note that reserves a program header.
Pieces reserve_note() {
  Pieces note;
  const std::uint32_t owner_bytes = reserve_note_owner.size() + 1;
  const Elf64_Nhdr header{owner_bytes, 0, 1};
  note.Write(&header, sizeof header);
  note.write_bytes(reserve_note_owner);
  pad_to(note, sizeof header + align_up(owner_bytes, 4));
  return note;
}

Status check_name(std::string_view what, std::string_view name) {
  if (!name.empty() && name.find('\0') == std::string_view::npos) return {};
  return invalid(what, " is ", quoted(name), ", expected a name without NUL");
}

Status check(const ElfObject& object) {
  if (object.machine != ElfMachine::x86_64 && object.machine != ElfMachine::aarch64) {
    return unsupported("object file is for ", name_of(object.machine),
                       ", supported are x86-64 and aarch64");
  }
  if (!std::has_single_bit(object.alignment)) {
    return invalid("alignment of the container is ", object.alignment, ", expected a power of two");
  }
  GANTRY_CHECK(check_name("symbol of the container", object.symbol));
  if (object.register_function.empty()) return {};
  return check_name("function that registers the container", object.register_function);
}

Pieces table_of(std::span<const Elf64_Rela> entries) {
  Pieces bytes;
  bytes.Write(entries.data(), entries.size_bytes());
  return bytes;
}

// Adds the constructor and all symbols.
void add_constructor(const ElfObject& object, std::uint32_t data, std::uint64_t size,
                     Sections& sections) {
  const Constructor constructor = constructor_on(object.machine);
  const std::uint32_t code = sections.add(
      {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 16, pieces_of(constructor.code)});
  const std::uint32_t name =
      sections.add({".rodata.name", SHT_PROGBITS, SHF_ALLOC, 1, pieces_of(object.symbol + '\0')});
  const std::uint32_t array = sections.add({".init_array", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, 8,
                                            pieces_of(std::string(sizeof(std::uint64_t), '\0')), 0,
                                            0, sizeof(std::uint64_t)});
  Symbols symbols;
  const std::uint32_t code_symbol = symbols.add("", STB_LOCAL, STT_SECTION, code);
  const std::uint32_t name_symbol = symbols.add("", STB_LOCAL, STT_SECTION, name);
  const std::uint32_t container = symbols.add(object.symbol, STB_GLOBAL, STT_OBJECT, data, size);
  const std::uint32_t function =
      symbols.add(object.register_function, STB_GLOBAL, STT_NOTYPE, SHN_UNDEF);

  std::vector<Elf64_Rela> in_code;
  for (const CodeRelocation& relocation : constructor.relocations) {
    const std::uint64_t target = relocation.target == Target::name        ? name_symbol
                                 : relocation.target == Target::container ? container
                                                                          : function;
    in_code.push_back({relocation.at, ELF64_R_INFO(target, relocation.type), relocation.addend});
  }
  const Elf64_Rela in_array[] = {
      {0, ELF64_R_INFO(std::uint64_t{code_symbol}, constructor.address_type), 0}};
  // The two tables of relocations precede the symbols.
  const std::uint32_t symbol_table = array + 3;
  sections.add({".rela.text", SHT_RELA, SHF_INFO_LINK, 8, table_of(in_code), symbol_table, code,
                sizeof(Elf64_Rela)});
  sections.add({".rela.init_array", SHT_RELA, SHF_INFO_LINK, 8, table_of(in_array), symbol_table,
                array, sizeof(Elf64_Rela)});
  symbols.add_to(sections);
}

}  // namespace

Result<Pieces> write_elf_object(const ElfObject& object, Pieces content) {
  GANTRY_CHECK(check(object));
  Sections sections;
  const std::uint64_t size = content.size();
  const bool is_large = object.machine == ElfMachine::x86_64 && size > largest_small_data;
  const std::uint32_t data = sections.add({is_large ? ".lrodata" : ".rodata", SHT_PROGBITS,
                                           SHF_ALLOC | (is_large ? large_section : 0),
                                           object.alignment, std::move(content)});
  if (object.reserve_header) {
    sections.add({".note.gantry.reserve", SHT_NOTE, SHF_ALLOC, 4, reserve_note()});
  }
  sections.add({".note.GNU-stack", SHT_PROGBITS, 0, 1, Pieces()});
  if (object.register_function.empty()) {
    Symbols symbols;
    symbols.add(object.symbol, STB_GLOBAL, STT_OBJECT, data, size);
    symbols.add_to(sections);
  } else {
    add_constructor(object, data, size, sections);
  }
  return std::move(sections).write(object.machine);
}

}  // namespace gantry
