// SPDX-License-Identifier: Apache-2.0
#include "core/native/library.hpp"

#include "core/base/log.hpp"
#include "core/base/mapping.hpp"
#include "core/base/process_end.hpp"
#include "core/base/process_state.hpp"
#include "core/elf/elf_link.hpp"
#include "core/native/library_imports.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <mutex>
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

// Checks that every imported TVM... name resolves to libgantry_tvm.so and not to a TVM library that
// the program has opened globally.
Status check_no_other_tvm(void* ours, const std::vector<std::string_view>& wanted) {
  for (const std::string_view name : wanted) {
    if (!name.starts_with("TVM")) continue;
    const std::string text(name);
    void* found = dlsym(RTLD_DEFAULT, text.c_str());
    if (found == dlsym(ours, text.c_str())) continue;
    Dl_info where{};
    const bool known = dladdr(found, &where) != 0 && where.dli_fname != nullptr;
    return unavailable("this process already has ", name, " from ",
                       known ? where.dli_fname : "an unknown library",
                       ", which hides gantry's symbol from the artifact")
        .with_reason("TVM_SYMBOLS");
  }
  return {};
}

Status open_tvm_symbols(const std::filesystem::path& path,
                        const std::vector<std::string_view>& wanted) {
  // dlopen() of an empty path returns the program itself.
  if (path.empty()) {
    return unavailable("it imports ", wanted.front(),
                       " from libgantry_tvm.so, whose path is not configured in this runtime")
        .with_reason("LIBRARY_NEEDED");
  }
  // The file is checked before it is opened, because its symbols precede those of every library
  // that is opened later.
  auto file = MappedFile::open(path);
  if (!file.ok()) {
    return unavailable("it imports ", wanted.front(),
                       " from libgantry_tvm.so, which cannot be read: ", file.error().message)
        .with_reason("LIBRARY_NEEDED");
  }
  const auto elf = ElfFile::parse(*file);
  if (!elf.ok() || elf->find(kTvmFunctionsSymbol) == nullptr) {
    return unavailable(path.native(), " is not a libgantry_tvm.so of this version")
        .with_reason("LIBRARY_NEEDED");
  }
  void* ours = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (ours == nullptr) {
    return unavailable("it imports ", wanted.front(),
                       " from libgantry_tvm.so, which cannot be opened: ", last_dlerror())
        .with_reason("LIBRARY_NEEDED");
  }
  auto* slot = static_cast<TvmFunctions*>(dlsym(ours, kTvmFunctionsSymbol));
  if (slot == nullptr || slot->struct_size > sizeof(TvmFunctions)) {
    return unavailable(path.native(), " is not a libgantry_tvm.so of this version")
        .with_reason("LIBRARY_NEEDED");
  }
  if (slot->struct_size == 0) *slot = tvm_functions();
  if (slot->func_call != tvm_functions().func_call) {
    return unavailable(path.native(), " is in use by another copy of gantry in this process")
        .with_reason("TVM_SYMBOLS");
  }
  return check_no_other_tvm(ours, wanted);
}

// True if the linker looks for dependencies of the library in the directory of its path.
bool searches_origin(const ElfFile& elf) {
  const auto has_origin = [](std::string_view text) {
    return text.find("$ORIGIN") != std::string_view::npos ||
           text.find("${ORIGIN}") != std::string_view::npos;
  };
  return has_origin(elf.runpath()) || has_origin(elf.rpath());
}

bool may_be_written(const ElfFile& elf, std::uint64_t address, std::uint64_t size) {
  bool writable = false;
  for (const ElfSegment& segment : elf.image().segments()) {
    if (!segment.contains(address, size)) continue;
    // The linker makes this part of a writable segment read-only after relocation.
    if (segment.type == segment_type::gnu_relro) return false;
    if (segment.type == segment_type::load) writable = segment.is_writable();
  }
  return writable;
}

}  // namespace

Result<std::vector<std::string_view>> check_host_code(const ElfFile& elf,
                                                      const ExporterFacts& facts,
                                                      std::string_view location) {
  if (elf.type() != ElfType::shared || elf.flags().pie) {
    return unsupported(location, " is not a shared library").with_reason("FILE_KIND");
  }
  if (elf.machine() != host_machine()) {
    return unavailable(location, " is ", name_of(elf.machine()), ", this host is ",
                       name_of(host_machine()))
        .with_reason("BLOB_ARCH");
  }
  if (auto complete = elf.check_complete(); !complete.ok()) {
    return std::move(complete).failure().at("while opening ", location);
  }
  if (auto linked = check_link(elf); !linked.ok()) {
    return std::move(linked).failure().at("while opening ", location);
  }
  if (facts.dialect == Dialect::ffi) {
    return unsupported(location, " is host code of the ffi dialect (", quoted(facts.dialect_symbol),
                       ": written by ", facts.writer,
                       "); this version runs the packed dialect of TVM 0.20 and older")
        .with_reason("DIALECT_FFI");
  }
  return check_tvm_imports(elf, location);
}

Result<std::shared_ptr<HostLibrary>> HostLibrary::open(std::shared_ptr<const MappedFile> file,
                                                       std::shared_ptr<const ElfFile> elf,
                                                       const ExporterFacts& facts,
                                                       const HostServices& services) {
  const std::string& location = file->path().native();
  GANTRY_TRY(const std::vector<std::string_view> wanted, check_host_code(*elf, facts, location));

  std::shared_ptr<HostLibrary> library(new HostLibrary(file, std::move(elf)));
  // The linker does not release its lock if a constructor is unwound.
  const NoCancellation guard;
  const std::lock_guard lock(open_mutex());
  if (!wanted.empty()) {
    if (auto opened = open_tvm_symbols(services.tvm_symbols, wanted); !opened.ok()) {
      return std::move(opened).failure().at("while opening ", location);
    }
  }
  ProcessState before(ProcessState::Scope::artifact);
  Status opened = library->open_file();
  const std::vector<std::string_view> changed = before.restore();
  if (services.log && !changed.empty()) {
    services.log->warning(Message(location, " changes ", join(changed),
                                  " while it is loaded; gantry has restored it"));
  }
  GANTRY_CHECK(opened);
  if (services.log && library->is_private_copy()) {
    services.log->debug(
        Message(location, " is already open in this process: this runtime uses a copy in memory"));
  }
  return library;
}

Status HostLibrary::open_file() {
  GANTRY_TRY(opened_, LinkerFile::of(*file_));
  // The linker would also expand the $ of a path.
  const bool is_literal = path().native().find('$') == std::string::npos;
  return searches_origin(*elf_) && !is_private_copy() && is_literal ? open_path()
                                                                    : open_descriptor();
}

Status HostLibrary::open_path() {
  // dlopen() searches the library path for a name without a slash.
  const std::string& own = path().native();
  const std::string with_slash = path().has_parent_path() ? own : "./" + own;
  handle_ = dlopen(with_slash.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) return explain_open_failure(*elf_, own, last_dlerror());
  if (mapping_of_library(handle_) == mapping_of(file_->bytes().data())) return {};
  return unavailable(own,
                     " is another file than the one that was read: it was replaced during the "
                     "load; load it again")
      .with_reason("REPLACED_DURING_LOAD");
}

Status HostLibrary::open_descriptor() {
  const std::string opened = opened_.path();
  handle_ = dlopen(opened.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    std::string text = last_dlerror();
    if (access(opened.c_str(), F_OK) != 0) {
      return unavailable(path().native(), " cannot be opened: ", opened,
                         " does not exist; mount /proc")
          .with_reason("LIBRARY_OPEN");
    }
    if (text.starts_with(opened)) text.replace(0, opened.size(), path().native());
    Error error = explain_open_failure(*elf_, path().native(), text);
    if (searches_origin(*elf_)) {
      error.at(is_private_copy() ? "in a private copy of it" : "without its path, which contains $",
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

HostLibrary::~HostLibrary() {
  if (handle_ == nullptr) return;
  const NoCancellation guard;
  const std::lock_guard lock(open_mutex());
  if (linker_path_ != nullptr) link_map_of(handle_)->l_name = linker_path_;
  dlclose(handle_);
}

// dlsym() searches the library of the handle before its dependencies and the library defines the
// symbol, so the result is not another library's symbol of the same name.
void* HostLibrary::address_of(const ElfSymbol& symbol) const {
  return dlsym(handle_, std::string(symbol.name).c_str());
}

void* HostLibrary::function(std::string_view name) const {
  const ElfSymbol* symbol = elf_->find(name);
  if (symbol == nullptr || !symbol->exported() || symbol->type != SymbolType::function)
    return nullptr;
  return address_of(*symbol);
}

void** HostLibrary::pointer_variable(std::string_view name) const {
  const ElfSymbol* symbol = elf_->find(name);
  if (symbol == nullptr || !symbol->exported() || symbol->type != SymbolType::object)
    return nullptr;
  if (symbol->size != sizeof(void*) || symbol->value % alignof(void*) != 0) return nullptr;
  if (!may_be_written(*elf_, symbol->value, sizeof(void*))) return nullptr;
  return static_cast<void**>(address_of(*symbol));
}

}  // namespace gantry
