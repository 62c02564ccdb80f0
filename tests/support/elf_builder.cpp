// SPDX-License-Identifier: Apache-2.0
#include "tests/support/elf_builder.hpp"

#include "tests/support/words.hpp"

#include <algorithm>
#include <map>

namespace gantry::test {
namespace {

// A string table without duplicates.
class Strings {
 public:
  Strings() { bytes_.u8(0); }
  std::uint32_t at(const std::string& text) {
    if (text.empty()) return 0;
    const auto [found, is_new] = locations_.try_emplace(text, bytes_.size());
    if (is_new) bytes_.text(text).u8(0);
    return static_cast<std::uint32_t>(found->second);
  }
  const Words& words() const { return bytes_; }

 private:
  Words bytes_;
  std::map<std::string, std::size_t> locations_;
};

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

void pad(Words& words, std::size_t alignment) {
  while (words.size() % alignment != 0) words.u8(0);
}

struct Segment {
  std::uint32_t type, flags;
  std::uint64_t offset, file_size, memory_size, alignment;
};

void append(Words& to, const Segment& segment) {
  const std::uint64_t address = ElfBuilder::base_address + segment.offset;
  to.u32(segment.type).u32(segment.flags).u64(segment.offset).u64(address).u64(address);
  to.u64(segment.file_size).u64(segment.memory_size).u64(segment.alignment);
}

}  // namespace

ElfBuilder::ElfBuilder() {
#if defined(__aarch64__)
  machine_ = 183;
#else
  machine_ = 62;
#endif
}

ElfBuilder& ElfBuilder::machine(std::uint16_t number) {
  machine_ = number;
  return *this;
}
ElfBuilder& ElfBuilder::type(std::uint16_t number) {
  type_ = number;
  return *this;
}
ElfBuilder& ElfBuilder::hash(Hash kind) {
  hash_ = kind;
  return *this;
}
ElfBuilder& ElfBuilder::sections() {
  sections_ = true;
  return *this;
}

ElfBuilder& ElfBuilder::object(std::string_view name, std::span<const std::uint8_t> content) {
  return object(name, content, content.size());
}
ElfBuilder& ElfBuilder::object(std::string_view name, std::span<const std::uint8_t> content,
                               std::uint64_t size) {
  symbols_.push_back({std::string(name), {content.begin(), content.end()}, size, 1, true});
  return *this;
}
ElfBuilder& ElfBuilder::function(std::string_view name) {
  const std::uint8_t code[16] = {};
  symbols_.push_back({std::string(name), {code, code + sizeof code}, sizeof code, 2, true});
  return *this;
}
ElfBuilder& ElfBuilder::undefined(std::string_view name) {
  symbols_.push_back({std::string(name), {}, 0, 0, false});
  return *this;
}

ElfBuilder& ElfBuilder::needed(std::string_view library) {
  needed_.emplace_back(library);
  return *this;
}
ElfBuilder& ElfBuilder::soname(std::string_view name) {
  soname_ = name;
  return *this;
}
ElfBuilder& ElfBuilder::rpath(std::string_view path) {
  rpath_ = path;
  return *this;
}
ElfBuilder& ElfBuilder::runpath(std::string_view path) {
  runpath_ = path;
  return *this;
}
ElfBuilder& ElfBuilder::interpreter(std::string_view path) {
  interpreter_ = path;
  return *this;
}
ElfBuilder& ElfBuilder::version_need(std::string_view library, std::vector<std::string> versions,
                                     bool is_weak) {
  version_needs_.push_back({std::string(library), std::move(versions), is_weak});
  return *this;
}
ElfBuilder& ElfBuilder::note(std::string_view owner, std::uint32_t type,
                             std::span<const std::uint8_t> content) {
  notes_.push_back({std::string(owner), type, {content.begin(), content.end()}});
  return *this;
}
ElfBuilder& ElfBuilder::dynamic(std::uint64_t tag, std::uint64_t value) {
  dynamic_.push_back({tag, value});
  return *this;
}
ElfBuilder& ElfBuilder::executable_stack() {
  executable_stack_ = true;
  return *this;
}
ElfBuilder& ElfBuilder::relro() {
  relro_ = true;
  return *this;
}
ElfBuilder& ElfBuilder::tls(std::uint64_t size) {
  tls_ = size;
  return *this;
}
ElfBuilder& ElfBuilder::at_least(std::uint64_t size) {
  at_least_ = size;
  return *this;
}
ElfBuilder& ElfBuilder::memory_behind(std::uint64_t size) {
  memory_behind_ = size;
  return *this;
}

std::vector<std::uint8_t> ElfBuilder::build() const {
  constexpr std::uint64_t header_bytes = 64, program_header_bytes = 56;
  const std::uint64_t program_headers = 3 + (interpreter_.empty() ? 0 : 1) +
                                        (notes_.empty() ? 0 : 1) + (tls_ == 0 ? 0 : 1) +
                                        (relro_ ? 1 : 0);
  // `body` begins with space for the headers, so that its offsets are file offsets.
  Words body;
  const std::vector<std::uint8_t> headers(header_bytes + program_headers * program_header_bytes);
  body.bytes(headers);
  const auto address = [](std::uint64_t offset) { return base_address + offset; };

  const std::uint64_t interpreter_at = body.size();
  if (!interpreter_.empty()) body.text(interpreter_).u8(0);
  pad(body, 8);
  const std::uint64_t notes_at = body.size();
  for (const Note& note : notes_) {
    body.u32(static_cast<std::uint32_t>(note.owner.size() + 1));
    body.u32(static_cast<std::uint32_t>(note.content.size())).u32(note.type);
    body.text(note.owner).u8(0);
    pad(body, 4);
    body.bytes(note.content);
    pad(body, 4);
  }
  const std::uint64_t notes_size = body.size() - notes_at;
  pad(body, 8);

  // The GNU hash table requires undefined symbols to be first.
  std::vector<Symbol> symbols = symbols_;
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](const Symbol& a, const Symbol& b) { return a.defined < b.defined; });
  const auto count = static_cast<std::uint32_t>(symbols.size() + 1);
  const auto first_defined = static_cast<std::uint32_t>(
      1 + std::count_if(symbols.begin(), symbols.end(), [](auto& s) { return !s.defined; }));

  std::vector<std::uint64_t> content_at;
  for (const Symbol& symbol : symbols) {
    content_at.push_back(body.size());
    body.bytes(symbol.content);
  }
  pad(body, 8);

  Strings strings;
  const std::uint64_t symbols_at = body.size();
  body.u64(0).u64(0).u64(0);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    constexpr std::uint16_t some_section = 1;
    body.u32(strings.at(symbol.name)).u8(static_cast<std::uint8_t>(1 << 4 | symbol.type)).u8(0);
    body.u16(symbol.defined ? some_section : 0);
    body.u64(symbol.defined ? address(content_at[i]) : 0).u64(symbol.size);
  }

  const std::uint64_t gnu_hash_at = body.size();
  if (hash_ == Hash::gnu_empty) {
    body.u32(1).u32(1).u32(1).u32(0).u64(0).u32(0);
  } else {
    body.u32(1).u32(first_defined).u32(1).u32(6).u64(~std::uint64_t{0});
    body.u32(first_defined < count ? first_defined : 0);
    for (std::uint32_t i = first_defined; i < count; ++i) {
      const std::uint32_t last = i + 1 == count ? 1 : 0;
      body.u32((gnu_hash(symbols[i - 1].name) & ~1u) | last);
    }
  }
  pad(body, 8);
  const std::uint64_t hash_at = body.size();
  body.u32(1).u32(count).u32(count > 1 ? 1 : 0);
  for (std::uint32_t i = 0; i < count; ++i) body.u32(i == 0 || i + 1 == count ? 0 : i + 1);
  pad(body, 8);

  const std::uint64_t versions_at = body.size();
  for (std::size_t n = 0; n < version_needs_.size(); ++n) {
    const VersionNeed& need = version_needs_[n];
    const auto versions = static_cast<std::uint32_t>(need.versions.size());
    const bool last = n + 1 == version_needs_.size();
    body.u16(1).u16(static_cast<std::uint16_t>(versions)).u32(strings.at(need.library));
    body.u32(16).u32(last ? 0 : 16 + 16 * versions);
    for (std::uint32_t v = 0; v < versions; ++v) {
      body.u32(0)
          .u16(need.is_weak ? 2 : 0)
          .u16(static_cast<std::uint16_t>(2 + v))
          .u32(strings.at(need.versions[v]));
      body.u32(v + 1 == versions ? 0 : 16);
    }
  }

  std::vector<Entry> entries;
  for (const std::string& library : needed_) entries.push_back({1, strings.at(library)});
  if (!soname_.empty()) entries.push_back({14, strings.at(soname_)});
  if (!rpath_.empty()) entries.push_back({15, strings.at(rpath_)});
  if (!runpath_.empty()) entries.push_back({29, strings.at(runpath_)});
  const std::uint64_t strings_at = body.size();
  body.bytes(strings.words().bytes());
  pad(body, 8);
  entries.push_back({5, address(strings_at)});
  entries.push_back({10, strings.words().size()});
  entries.push_back({6, address(symbols_at)});
  entries.push_back({11, 24});
  if (hash_ == Hash::gnu || hash_ == Hash::both || hash_ == Hash::gnu_empty) {
    entries.push_back({0x6ffffef5, address(gnu_hash_at)});
  }
  if (hash_ == Hash::sysv || hash_ == Hash::both) entries.push_back({4, address(hash_at)});
  if (!version_needs_.empty()) {
    entries.push_back({0x6ffffffe, address(versions_at)});
    entries.push_back({0x6fffffff, version_needs_.size()});
  }
  entries.insert(entries.end(), dynamic_.begin(), dynamic_.end());
  entries.push_back({0, 0});
  const std::uint64_t dynamic_at = body.size();
  for (const Entry& entry : entries) body.u64(entry.tag).u64(entry.value);
  const std::uint64_t segment_end = body.size();

  const std::uint64_t sections_at = segment_end;
  if (sections_) {
    const auto section = [&](std::uint32_t type, std::uint64_t at, std::uint64_t size,
                             std::uint32_t link, std::uint64_t entry) {
      body.u32(0).u32(type).u64(2).u64(at == 0 ? 0 : address(at)).u64(at).u64(size);
      body.u32(link).u32(1).u64(8).u64(entry);
    };
    section(0, 0, 0, 0, 0);
    section(11, symbols_at, std::uint64_t{24} * count, 2, 24);
    section(3, strings_at, strings.words().size(), 0, 0);
  }

  Words head;
  head.u8(0x7f).text("ELF").u8(2).u8(1).u8(1).u8(0).u64(0);
  head.u16(type_).u16(machine_).u32(1).u64(0).u64(header_bytes).u64(sections_ ? sections_at : 0);
  head.u32(0).u16(header_bytes).u16(program_header_bytes);
  head.u16(static_cast<std::uint16_t>(program_headers)).u16(64).u16(sections_ ? 3 : 0).u16(0);
  append(head, {1, 6, 0, segment_end, segment_end + memory_behind_, 0x1000});
  append(head, {2, 6, dynamic_at, segment_end - dynamic_at, segment_end - dynamic_at, 8});
  append(head, {0x6474e551, executable_stack_ ? 7u : 6u, 0, 0, 0, 16});
  if (!interpreter_.empty()) {
    append(head, {3, 4, interpreter_at, interpreter_.size() + 1, interpreter_.size() + 1, 1});
  }
  if (!notes_.empty()) append(head, {4, 4, notes_at, notes_size, notes_size, 4});
  if (relro_) append(head, {0x6474e552, 4, segment_end, 0, 0, 1});
  if (tls_ != 0) append(head, {7, 4, segment_end, 0, tls_, 8});

  std::vector<std::uint8_t> file(body.bytes().begin(), body.bytes().end());
  std::copy(head.bytes().begin(), head.bytes().end(), file.begin());
  file.resize(std::max<std::uint64_t>(file.size(), at_least_));
  return file;
}

std::vector<std::uint8_t> relocatable_object(std::string_view symbol,
                                             std::span<const std::uint8_t> content) {
  constexpr std::uint64_t header_bytes = 64, before_symbol = 8, symbol_bytes = 24;
  const std::uint64_t data_size = before_symbol + content.size();
  const std::uint64_t symbols_at = (header_bytes + data_size + 7) / 8 * 8;
  const std::uint64_t strings_at = symbols_at + 2 * symbol_bytes;
  const std::uint64_t strings_size = symbol.size() + 2;
  const std::uint64_t sections_at = (strings_at + strings_size + 7) / 8 * 8;
  Words file;
  file.u8(0x7f).text("ELF").u8(2).u8(1).u8(1).u8(0).u64(0);
  file.u16(1).u16(62).u32(1).u64(0).u64(0).u64(sections_at);
  file.u32(0).u16(header_bytes).u16(0).u16(0).u16(64).u16(4).u16(0);
  file.u64(0).bytes(content);
  pad(file, 8);
  file.u64(0).u64(0).u64(0);
  file.u32(1).u8(1 << 4 | 1).u8(0).u16(1).u64(before_symbol).u64(content.size());
  file.u8(0).text(symbol).u8(0);
  pad(file, 8);
  const auto section = [&](std::uint32_t type, std::uint64_t at, std::uint64_t size,
                           std::uint32_t link) {
    file.u32(0).u32(type).u64(2).u64(0).u64(at).u64(size).u32(link).u32(1).u64(8).u64(0);
  };
  section(0, 0, 0, 0);
  section(1, header_bytes, data_size, 0);
  section(2, symbols_at, 2 * symbol_bytes, 3);
  section(3, strings_at, strings_size, 0);
  return {file.bytes().begin(), file.bytes().end()};
}

}  // namespace gantry::test
