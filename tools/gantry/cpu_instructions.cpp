// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/cpu_instructions.hpp"

#include "core/base/text.hpp"
#include "core/formats/elf/elf_sections.hpp"

#include <gantry/concat.hpp>

#if defined(__x86_64__)
#include <Zydis/Zydis.h>
#include <dlfcn.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gantry::cli {

#if defined(__x86_64__)
namespace {

constexpr std::uint64_t max_code_bytes = std::uint64_t{64} << 20;

// libZydis, which is opened when it is needed: linking it would lengthen the start of every command. It stays open.
class Decoder {
 public:
  static Result<Decoder> open() {
    const std::string name = concat("libZydis.so.", ZYDIS_VERSION_MAJOR(ZYDIS_VERSION), '.',
                                    ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return unavailable(name, " cannot be opened");
    Decoder decoder;
    const auto find = [&](const char* symbol, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
      return function != nullptr;
    };
    decltype(&ZydisDecoderInit) init = nullptr;
    const bool is_complete = find("ZydisDecoderInit", init) &&
                             find("ZydisDecoderDecodeInstruction", decoder.decode_) &&
                             find("ZydisISASetGetString", decoder.name_of_set_) &&
                             find("ZydisMnemonicGetString", decoder.mnemonic_);
    if (!is_complete ||
        !ZYAN_SUCCESS(init(&decoder.decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
      return unavailable(name, " is not the library with which gantry is built");
    return decoder;
  }

  bool decode(std::span<const std::uint8_t> code, ZydisDecodedInstruction& instruction) const {
    return ZYAN_SUCCESS(decode_(&decoder_, nullptr, code.data(), code.size(), &instruction));
  }
  std::string_view name_of(ZydisISASet set) const { return name_of_set_(set); }
  std::string_view name_of(ZydisMnemonic mnemonic) const { return mnemonic_(mnemonic); }

 private:
  ZydisDecoder decoder_{};
  decltype(&ZydisDecoderDecodeInstruction) decode_ = nullptr;
  decltype(&ZydisISASetGetString) name_of_set_ = nullptr;
  decltype(&ZydisMnemonicGetString) mnemonic_ = nullptr;
};

// Names that differ from those of compilers by more than case.
constexpr std::pair<std::string_view, std::string_view> renamed_sets[] = {
    {"AVX2GATHER", "avx2"}, {"AVXAES", "avx"},  {"BMI1", "bmi"},
    {"SSSE3MMX", "ssse3"},  {"SSE4", "sse4.1"}, {"SSE42", "sse4.2"}};

// Returns the features of an instruction set of the decoder that a host can be asked for: of "AVX512_VNNI_256" avx512vnni and avx512vl.
std::vector<std::string_view> features_of(std::string_view set) {
  const auto renamed =
      std::ranges::find(renamed_sets, set, [](const auto& pair) { return pair.first; });
  if (renamed != std::end(renamed_sets)) return {renamed->second};
  std::string name(set);
  std::string_view width;
  constexpr std::string_view wide = "AVX512";
  if (set.starts_with(wide)) {
    std::string_view rest = set.substr(wide.size());
    if (rest.starts_with('_')) rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('_'), rest.size());
    name = concat(wide, rest.substr(0, end));
    width = rest.substr(end);
  }
  std::vector<std::string_view> features;
  if (const std::string_view known = known_feature(lower(name)); !known.empty())
    features.push_back(known);
  if (width == "_128" || width == "_256") features.push_back(known_feature("avx512vl"));
  return features;
}

// Machine code of one section or segment.
struct CodeRange {
  std::uint64_t address;
  std::span<const std::uint8_t> bytes;
};

std::vector<CodeRange> code_of(const ElfImage& image) {
  std::vector<CodeRange> code;
  for (std::size_t i = 0; i < image.sections().size(); ++i) {
    const ElfSection& section = image.sections()[i];
    if (section.type != section_type::program_data || !section.is_executable()) continue;
    if (const auto bytes = image.bytes_of_section(i); bytes.ok())
      code.push_back({section.address, *bytes});
  }
  if (!image.sections().empty()) return code;
  for (std::size_t i = 0; i < image.segments().size(); ++i) {
    const ElfSegment& segment = image.segments()[i];
    if (segment.type != segment_type::load || !segment.is_executable()) continue;
    if (const auto bytes = image.bytes_of_segment(i); bytes.ok())
      code.push_back({segment.address, *bytes});
  }
  return code;
}

// True if the file has code that chooses by the CPU on which it runs, as far as its symbols tell.
bool has_choosing_symbols(const ElfFile& elf) {
  return std::ranges::any_of(elf.symbols(), [](const ElfSymbol& symbol) {
    return symbol.type == SymbolType::ifunc || symbol.name.starts_with("__cpu_model") ||
           symbol.name.starts_with("__cpu_indicator_init") ||
           symbol.name.starts_with("__x86_get_cpu");
  });
}

class CodeReader {
 public:
  CodeReader(const Decoder& decoder, const HasFeature& has) : decoder_(decoder), has_(has) {}

  // Decodes from function to function, because bytes that are no instruction say nothing about where the next one begins.
  //
  // starts   [in]   sorted addresses
  void read(const CodeRange& code, std::span<const std::uint64_t> starts) {
    auto next = std::ranges::upper_bound(starts, code.address);
    std::size_t at = 0;
    while (at < code.bytes.size() && !chooses_ && left_bytes_ > 0) {
      for (; next != starts.end() && *next - code.address <= at; ++next) {
      }
      const std::uint64_t end =
          next == starts.end() ? code.bytes.size()
                               : std::min<std::uint64_t>(*next - code.address, code.bytes.size());
      std::size_t length = 0;
      ZydisDecodedInstruction instruction;
      if (decoder_.decode(code.bytes.subspan(at, end - at), instruction)) {
        length = instruction.length;
        add(instruction, code.address + at);
      } else {
        length = end - at;
      }
      at += length;
      left_bytes_ -= std::min<std::uint64_t>(length, left_bytes_);
    }
  }

  std::optional<CpuRequirement> take() {
    if (chooses_ || missing_.empty()) return std::nullopt;
    return CpuRequirement{std::move(first_), {missing_.begin(), missing_.end()}};
  }

 private:
  void add(const ZydisDecodedInstruction& instruction, std::uint64_t address) {
    // Compilers use these two for every CPU: one that lacks them executes bsf and bsr.
    if (instruction.mnemonic == ZYDIS_MNEMONIC_TZCNT ||
        instruction.mnemonic == ZYDIS_MNEMONIC_LZCNT)
      return;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_CPUID) chooses_ = true;
    bool& is_known = known_.at(instruction.meta.isa_set);
    if (std::exchange(is_known, true)) return;
    for (const std::string_view feature : features_of(decoder_.name_of(instruction.meta.isa_set))) {
      if (has_(feature) || !missing_.insert(feature).second || !first_.empty()) continue;
      first_ = concat(decoder_.name_of(instruction.mnemonic), " at address ", Hex{address});
    }
  }

  const Decoder& decoder_;
  const HasFeature& has_;
  std::array<bool, ZYDIS_ISA_SET_MAX_VALUE + 1> known_{};
  std::uint64_t left_bytes_ = max_code_bytes;
  bool chooses_ = false;
  std::set<std::string_view> missing_;
  std::string first_;
};

}  // namespace

Result<std::optional<CpuRequirement>> unmet_by_instructions(const ElfFile& elf,
                                                            const HasFeature& has) {
  if (elf.machine() != ElfMachine::x86_64 || has_choosing_symbols(elf))
    return std::optional<CpuRequirement>();
  GANTRY_TRY(const Decoder decoder, Decoder::open());
  std::vector<std::uint64_t> starts;
  if (elf.type() != ElfType::relocatable) {
    for (const ElfSymbol& symbol : elf.symbols())
      if (symbol.defined() && symbol.type == SymbolType::function) starts.push_back(symbol.value);
  }
  std::ranges::sort(starts);
  CodeReader reader(decoder, has);
  for (const CodeRange& code : code_of(elf.image())) reader.read(code, starts);
  return reader.take();
}

#else

// host_has_feature() knows instruction sets of x86-64 only, and this machine runs no such file.
Result<std::optional<CpuRequirement>> unmet_by_instructions(const ElfFile&, const HasFeature&) {
  return std::optional<CpuRequirement>();
}

#endif

}  // namespace gantry::cli
