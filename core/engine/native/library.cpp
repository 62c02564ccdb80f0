// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/library.hpp"

#include "core/base/log.hpp"
#include "core/base/mapping.hpp"
#include "core/base/noexec.hpp"
#include "core/base/process_end.hpp"
#include "core/base/process_state.hpp"
#include "core/base/reason.hpp"
#include "core/base/replace_text.hpp"
#include "core/base/running_code.hpp"
#include "core/base/system_limit.hpp"
#include "core/base/x86_levels.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/native/library_imports.hpp"
#include "core/engine/native/unread_pages.hpp"
#include "core/formats/elf/elf_link.hpp"
#include "core/formats/elf/elf_machine.hpp"
#include "core/formats/elf/elf_x86.hpp"
#include "core/formats/function_symbol.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

// Serializes the check whether a file is open and the opening, because the system's loader is
// shared by the whole process.
std::mutex& open_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::string last_dlerror() {
  const char* text = dlerror();
  return text ? text : "the system reports no reason";
}

// True if the linker looks for dependencies of the library in the directory of its path.
bool searches_origin(const ElfFile& elf) {
  const auto has_origin = [](std::string_view text) {
    return text.find("$ORIGIN") != std::string_view::npos ||
           text.find("${ORIGIN}") != std::string_view::npos;
  };
  return has_origin(elf.runpath()) || has_origin(elf.rpath());
}

int flags_of(const ImportBinding& binding) {
  return RTLD_LOCAL | (binding.is_lazy() ? RTLD_LAZY : RTLD_NOW);
}

bool may_be_written(const ElfFile& elf, std::uint64_t address, std::uint64_t size) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return !elf.image().is_protected(address, size, page) &&
         std::ranges::any_of(elf.image().segments(), [&](const ElfSegment& segment) {
           return segment.type == segment_type::load && segment.is_writable() &&
                  segment.contains(address, size);
         });
}

}  // namespace

Result<ImportBinding> check_cpu_code(const ElfFile& elf, const ExporterFacts& facts,
                                     std::string_view location) {
  if (!elf.is_shared_library()) {
    return unsupported(no_library_text(location, elf)).with_reason("FILE_KIND");
  }
  GANTRY_CHECK(check_machine(elf, location));
  if (const std::uint64_t alignment = alignment_below_page(elf); alignment != 0)
    return unavailable(location, page_text(alignment)).with_reason(reason::page_size.tag);
  if (auto complete = elf.check_complete(); !complete.ok()) {
    return std::move(complete).failure().at("while opening ", location);
  }
  if (auto linked = check_link(elf); !linked.ok()) {
    return std::move(linked).failure().at("while opening ", location);
  }
  return ImportBinding::of(elf, facts, location);
}

Status check_machine(const ElfFile& elf, std::string_view location) {
  if (elf.machine() != host_machine()) {
    return unavailable(location, " is ", name_of(elf.machine()), ", this host is ",
                       name_of(host_machine()))
        .with_reason("BLOB_ARCH");
  }
  const std::uint32_t required = required_x86_levels(elf), present = host_x86_levels();
  if ((required & ~present) == 0) return {};
  return unavailable(location, " requires ", join(x86_level_names(required & ~present)),
                     " (its note of GNU properties), this CPU has ", join(x86_level_names(present)),
                     ": compile it for this CPU or an older one")
      .with_reason("BLOB_ARCH");
}

Status check_stack(const ElfFile& elf, std::string_view location) {
  const std::string_view cause = executable_stack_cause(elf);
  if (cause.empty()) return {};
  return unsupported(location, " ", cause,
                     ": the linker would make the stacks of the whole process executable, newer "
                     "systems refuse it; link it with -Wl,-z,noexecstack, or load it with "
                     "allow_executable_stack (gantry run --allow-executable-stack)")
      .with_reason(reason::exec_stack.tag);
}

Result<std::shared_ptr<CpuLibrary>> CpuLibrary::open(std::shared_ptr<const MappedFile> file,
                                                     std::shared_ptr<const ElfFile> elf,
                                                     const ExporterFacts& facts,
                                                     const HostServices& services,
                                                     std::span<const std::uint8_t> container) {
  const std::string& location = file->path().native();
  GANTRY_TRY(ImportBinding binding, check_cpu_code(*elf, facts, location));
  if (services.binds_early) binding.bind_early();

  std::shared_ptr<CpuLibrary> library(new CpuLibrary(file, std::move(elf), facts));
  // The linker does not release its lock if a constructor is unwound.
  const NoCancellation guard;
  const std::lock_guard lock(open_mutex());
  ProcessState before(ProcessState::Scope::artifact);
  library->is_of_headers_ = binding.is_of_headers();
  const std::uint64_t references = services.types ? services.types->references() : 0;
  Status opened;
  {
    // What its constructors register belongs to this runtime.
    const CpuScope scope({&services, nullptr}, CpuThread::no_env);
    opened = library->open_file(binding, container);
  }
  if (services.types && services.types->references() != references) library->stay();
  const std::vector<std::string_view> changed = before.restore();
  if (services.log && !changed.empty()) {
    services.log->warning(Message(location, " changes ", join(changed),
                                  " while it is loaded; gantry has restored it"));
  }
  GANTRY_CHECK(opened);
  if (services.log && library->is_private_copy()) {
    services.log->debug(Message(location,
                                binding.needs_copy() ? ": its imports are bound when it is opened"
                                : library->file_->descriptor() < 0
                                    ? " is a part of another file"
                                    : " is already open in this process",
                                ", so this runtime uses a copy in memory"));
  }
  return library;
}

Status CpuLibrary::open_file(const ImportBinding& binding,
                             std::span<const std::uint8_t> container) {
  const auto unread = [&] { return unread_pages(*elf_, container); };
  if (binding.needs_copy()) {
    GANTRY_TRY(opened_, LinkerFile::copy(path().filename().native(), binding.copied(file_->bytes()),
                                         unread()));
  } else {
    GANTRY_TRY(opened_, LinkerFile::of(*file_, unread));
  }
  // The linker would also expand the $ of a path.
  const bool is_literal = path().native().find('$') == std::string::npos;
  const bool has_path = !is_private_copy() && !file_->is_copy();
  const bool by_path = (searches_origin(*elf_) || !has_proc()) && has_path && is_literal;
  {
    const CallRecord record("a constructor", title_, CallRecord::Owner::artifact);
    GANTRY_CHECK(by_path ? open_path(binding) : open_descriptor(binding));
  }
  if (const link_map* const map = link_map_of(handle_); map != nullptr)
    code_.emplace(RangeKind::artifact, library_at(map->l_ld), title_);
  if (binding.is_lazy()) binding.bind(link_map_of(handle_)->l_addr);
  return {};
}

Failure CpuLibrary::open_failure(const ImportBinding& binding, std::string_view text) const {
  const std::string& own = path().native();
  if (states_open_files(text)) {
    return exhausted(own, " cannot be opened: ", text, open_files_remedy)
        .with_reason("LIBRARY_OPEN");
  }
  if (!is_private_copy() && is_on_noexec(file_->descriptor())) {
    return unavailable(own, " cannot be opened: ", path().parent_path().native(),
                       " is on a file system that is mounted noexec; copy the file to another one, "
                       "or load its bytes")
        .with_reason("LIBRARY_OPEN");
  }
  return explain_open_failure(*elf_, binding, own, text);
}

Status CpuLibrary::open_path(const ImportBinding& binding) {
  // dlopen() searches the library path for a name without a slash.
  const std::string& own = path().native();
  const std::string with_slash = path().has_parent_path() ? own : "./" + own;
  // LinkerFile compares by a path in /proc.
  if (void* const known =
          has_proc() ? nullptr : dlopen(with_slash.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(known);
    return unavailable(own, " is already open in this process, and a copy of it requires ",
                       "/proc, which is not mounted; mount /proc")
        .with_reason("LIBRARY_OPEN");
  }
  handle_ = dlopen(with_slash.c_str(), flags_of(binding));
  if (handle_ == nullptr) return open_failure(binding, last_dlerror());
  if (difference_of(handle_, *file_).empty()) return {};
  return unavailable(own,
                     " is another file than the one that was read: it was replaced during the "
                     "load; load it again")
      .with_reason(reason::replaced_during_load.tag);
}

Status CpuLibrary::open_descriptor(const ImportBinding& binding) {
  const std::string opened = opened_.path();
  handle_ = dlopen(opened.c_str(), flags_of(binding));
  if (handle_ == nullptr) {
    const std::string text = last_dlerror();
    if (access(opened.c_str(), F_OK) != 0) {
      return unavailable(path().native(), " cannot be opened: ", opened,
                         " does not exist; mount /proc")
          .with_reason("LIBRARY_OPEN");
    }
    Error error = open_failure(binding, replace_text(text, opened, path().native()));
    if (searches_origin(*elf_)) {
      error.at(is_private_copy() || file_->is_copy() ? "in a private copy of it"
                                                     : "without its path, which contains $",
               ", where $ORIGIN in its search path does not lead to its directory");
    }
    return error;
  }
  if (link_map* const map = link_map_of(handle_); map != nullptr && !is_private_copy()) {
    shown_path_ = path().native();
    linker_path_ = std::exchange(map->l_name, shown_path_.data());
  }
  return {};
}

CpuLibrary::~CpuLibrary() {
  if (handle_ == nullptr) return;
  code_.reset();
  const NoCancellation guard;
  const std::lock_guard lock(open_mutex());
  if (linker_path_ != nullptr) link_map_of(handle_)->l_name = linker_path_;
  if (stays()) {
    // The linker knows it by the number of its descriptor.
    try {
      static auto& kept = *new std::vector<LinkerFile>;
      kept.push_back(std::move(opened_));
    } catch (const std::bad_alloc&) {
      // The descriptor is closed, and LinkerFile does not use its number again.
    }
    return;
  }
  const CallRecord record("a destructor", title_, CallRecord::Owner::artifact);
  dlclose(handle_);
}

Status CpuLibrary::record_calls(TraceRecorder& recorder) {
  GANTRY_TRY(operators_, OperatorCalls::record(*elf_, link_map_of(handle_)->l_addr, recorder));
  return {};
}

// dlsym() searches the library of the handle before its dependencies and the library defines the
// symbol, so the result is not another library's symbol of the same name.
void* CpuLibrary::address_of(const ElfSymbol& symbol) const {
  return dlsym(handle_, std::string(symbol.name).c_str());
}

void* CpuLibrary::function(std::string_view name) const {
  const ElfSymbol* symbol = elf_->find(name);
  if (symbol == nullptr || !symbol->exported() || symbol->type != SymbolType::function)
    return nullptr;
  return address_of(*symbol);
}

void** CpuLibrary::pointer_variable(std::string_view name) const {
  const ElfSymbol* symbol = elf_->find(name);
  if (symbol == nullptr || !symbol->exported() || symbol->type != SymbolType::object)
    return nullptr;
  if (symbol->size != sizeof(void*) || symbol->value % alignof(void*) != 0) return nullptr;
  if (!may_be_written(*elf_, symbol->value, sizeof(void*))) return nullptr;
  return static_cast<void**>(address_of(*symbol));
}

std::vector<std::string> CpuLibrary::function_names() const {
  return exported_functions(*elf_, facts());
}

Result<std::string_view> CpuLibrary::entry_name() const {
  const ElfSymbol* symbol = elf().find(main_symbol);
  if (symbol == nullptr || !symbol->exported()) return std::string_view();
  if (symbol->type != SymbolType::object) return main_symbol;
  GANTRY_TRY(const auto bytes, elf().bytes_of(*symbol));
  const auto end = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
  if (end == bytes.end()) {
    return malformed(elf().offset_in_file(bytes), "__tvm_main__ has no terminator in its ",
                     bytes.size(), " bytes");
  }
  const std::string_view name(reinterpret_cast<const char*>(bytes.data()),
                              static_cast<std::size_t>(end - bytes.begin()));
  if (function(name) == nullptr) {
    return malformed(elf().offset_in_file(bytes), "__tvm_main__ names ", quoted(name),
                     ", which is not a function of the file");
  }
  return name;
}

std::vector<std::string> exported_functions(const ElfFile& elf, const ExporterFacts& facts) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (!symbol.exported() || symbol.type != SymbolType::function) continue;
    const std::string_view name = function_of_symbol(symbol.name, facts);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace gantry
