// SPDX-License-Identifier: Apache-2.0
#include "core/writing/cpu_code.hpp"

#include "core/base/new_file.hpp"
#include "core/base/text.hpp"
#include "core/formats/container_symbols.hpp"
#include "core/formats/function_symbol.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/elf_object.hpp"
#include "core/writing/generator/build_payload.hpp"
#include "core/writing/generator/source_language.hpp"
#include "core/writing/pack.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// The empty container of layout one.
constexpr std::uint64_t placeholder[] = {8, 0};

struct MachineName {
  std::string_view name;
  ElfMachine machine;
};
constexpr MachineName machine_names[] = {{"x86_64-", ElfMachine::x86_64},
                                         {"aarch64-", ElfMachine::aarch64},
                                         {"arm64-", ElfMachine::aarch64}};

Status write_placeholder(const fs::path& file, ElfMachine machine, std::string_view symbol) {
  ElfObject object;
  object.machine = machine;
  object.symbol = symbol;
  object.reserve_header = true;
  Pieces content;
  content.Write(placeholder, sizeof placeholder);
  GANTRY_TRY(const Pieces bytes, write_elf_object(object, std::move(content)));
  return write_new_file(file, bytes);
}

// A source of CPU code. The compiler opens it by its name.
struct CpuSource {
  std::string language;
  // NULL: the file is empty
  std::shared_ptr<const MappedFile> file;
};

Result<CpuSource> open_source(const fs::path& path) {
  CpuSource source{language_of(path.native()), nullptr};
  std::error_code error;
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) == 0) return source;
  GANTRY_TRY(source.file, MappedFile::open(path));
  return source;
}

Result<CpuCodeLibrary> read_library(const fs::path& path) {
  GANTRY_TRY(auto mapped, MappedFile::open(path));
  GANTRY_TRY(ElfFile elf, ElfFile::parse(mapped));
  if (elf.type() != ElfType::shared) {
    return invalid("C compiler produces no shared library; remove flags such as -c from the recipe")
        .with_reason("FILE_KIND");
  }
  return CpuCodeLibrary{std::move(mapped), std::move(elf)};
}

Result<CpuCodeLibrary> build_library_of(const std::vector<std::string>& names,
                                        const Generators& generators) {
  std::vector<CpuSource> sources;
  for (const std::string& name : names) {
    GANTRY_TRY(CpuSource source, open_source(generators.tools.directory / name));
    sources.push_back(std::move(source));
  }
  BuildJob job{.type_key = library_key};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& file = sources[i].file;
    job.sources.push_back({names[i], sources[i].language, file ? as_text(file->bytes()) : ""});
  }
  const fs::path path = generators.tools.scratch / "host_code.so";
  GANTRY_TRY(const Descriptor file, create_file(path));
  DescriptorStream out(file.get(), path.native());
  GANTRY_CHECK(build_payload(job, generators, out));
  GANTRY_CHECK(out.status());
  return read_library(path);
}

Status check_placeholder(const ElfFile& elf, std::string_view symbol) {
  const ElfSymbol* const found = elf.find(symbol);
  const std::uint64_t size = found == nullptr ? 0 : found->size;
  if (size == sizeof placeholder) return {};
  return unavailable("C compiler produces a library with a container of ", ByteCount(size),
                     ", expected ", ByteCount(sizeof placeholder));
}

// What the symbols other than the container's show of the CPU code.
struct CpuCode {
  Dialect dialect = Dialect::unknown;
  // a symbol that shows the dialect
  std::string_view evidence;
  // a function; empty: there is none
  std::string_view function;
};

CpuCode cpu_code_of(const ElfFile& elf, std::string_view container) {
  std::vector<CpuSymbol> symbols;
  CpuCode code;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.name == container) continue;
    symbols.push_back({symbol.name, symbol.size, symbol.defined()});
    if (symbol.defined() && symbol.type == SymbolType::function &&
        !is_compiler_helper(symbol.name)) {
      code.function = symbol.name;
    }
  }
  const ContainerSymbols chosen = choose_symbols(symbols);
  code.dialect = chosen.dialect;
  code.evidence = chosen.dialect_symbol;
  return code;
}

// Checks that a runtime can call the code as the generation of its container requires.
Status check_dialect(const ElfFile& elf, Generation form) {
  const GenerationFacts& required = generation_facts(form);
  const CpuCode code = cpu_code_of(elf, required.symbol);
  const auto refuse = [](const auto&... words) {
    return invalid("CPU code ", words...).with_reason("HOST_DIALECT");
  };
  if (required.dialect == Dialect::ffi) {
    if (code.dialect == Dialect::ffi) return {};
    if (code.dialect == Dialect::unknown && code.function.empty()) return {};
    return refuse("has no function of the ffi dialect of TVM 0.22 or newer, generation ",
                  required.name, " requires it: functions whose symbols begin with \"__tvm_ffi_\"");
  }
  if (required.dialect == Dialect::ffi_0_21) {
    if (code.dialect == Dialect::packed) {
      return refuse("has the packed dialect, generation ", required.name,
                    " requires the ffi dialect");
    }
    if (code.dialect != Dialect::ffi) return {};
    return refuse("has symbol ", quoted(code.evidence), " of TVM 0.22 or newer, generation ",
                  required.name, " requires code of TVM 0.21");
  }
  if (!is_ffi(code.dialect)) return {};
  return refuse("has the ffi dialect, by symbol ", quoted(code.evidence), "; generation ",
                required.name, " requires the packed dialect");
}

}  // namespace

ElfMachine target_machine(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    std::string_view name(word);
    if (const auto slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
    constexpr std::string_view option = "--target=";
    if (name.starts_with(option)) name.remove_prefix(option.size());
    for (const MachineName& known : machine_names) {
      if (name.starts_with(known.name)) return known.machine;
    }
  }
  return host_machine();
}

Result<CpuCodeLibrary> build_cpu_code(std::vector<std::string> sources,
                                      const Generators& generators, Generation form) {
  const std::string_view symbol = generation_facts(form).symbol;
  const fs::path object = generators.tools.scratch / "container.o";
  std::vector<std::string> words = generators.tools.programs.compiler;
  words.insert(words.end(), generators.tools.flags.begin(), generators.tools.flags.end());
  GANTRY_CHECK(write_placeholder(object, target_machine(words), symbol));
  sources.push_back(object.native());
  GANTRY_TRY(CpuCodeLibrary library, build_library_of(sources, generators));
  GANTRY_CHECK(check_placeholder(library.elf, symbol));
  GANTRY_CHECK(check_dialect(library.elf, form));
  return library;
}

Result<CpuCodeLibrary> build_plain_code(const std::vector<std::string>& sources,
                                        Generators generators) {
  generators.tools.flags.push_back(concat("-Wl,--defsym=", packed_mark, "=0"));
  return build_library_of(sources, generators);
}

}  // namespace gantry
