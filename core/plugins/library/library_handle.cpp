// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/library_handle.hpp"

#include "core/base/mapping.hpp"
#include "core/base/noexec.hpp"
#include "core/base/reason.hpp"
#include "core/base/replace_text.hpp"
#include "core/base/system_limit.hpp"
#include "core/plugins/library/imports.hpp"
#include "core/plugins/library/opened_plugins.hpp"

#include <boost/dll/shared_library.hpp>

#include <gantry/descriptor.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace gantry {
namespace {

// A library that stays open. Boost's handles close their library when they are destroyed, so they
// are stored on the heap, reachable and never destroyed.
struct KeptLibrary {
  boost::dll::shared_library library;
  // by which it was opened first; the linker's record of the library points to it
  std::string path;
};

// Libraries and their directories that stay open until the process ends.
class KeptFiles {
 public:
  static KeptFiles& of_process() {
    static KeptFiles& all = *new KeptFiles;
    return all;
  }
  // Keeps the first handle of each library, which suffices for all runtimes.
  //
  // returns  the kept library; NULL if another handle of it is kept
  const KeptLibrary* add(KeptLibrary opened) {
    const std::lock_guard lock(mutex_);
    for (const KeptLibrary& other : libraries_) {
      if (other.library.native() == opened.library.native()) return nullptr;
    }
    return &libraries_.emplace_back(std::move(opened));
  }
  // Returns a descriptor of a directory, the same for each of its paths. It is never closed: the
  // linker remembers names of files below /proc/self/fd/<number>, so a number must not become that
  // of another directory. -1: the directory cannot be opened.
  int directory(const std::string& path) {
    Descriptor opened(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    // Never a standard stream, which a program may replace.
    if (opened && opened.get() <= STDERR_FILENO)
      opened = Descriptor(::fcntl(opened.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    struct stat about {};
    if (!opened || ::fstat(opened.get(), &about) != 0) return -1;
    const std::lock_guard lock(mutex_);
    return directories_.try_emplace(identity_of(about), std::move(opened)).first->second.get();
  }

 private:
  std::mutex mutex_;
  // addresses stay valid
  std::deque<KeptLibrary> libraries_;
  std::map<FileIdentity, Descriptor> directories_;
};

Failure replaced(const Message& text) {
  return unavailable(text,
                     ": it was replaced after it was inspected; start the program again when ",
                     "the installation has ended")
      .with_reason(reason::replaced_during_load.tag);
}

// Returns a path that the linker resolves to the inspected file, whatever happens to the
// directories of `path`.
Result<std::string> linker_path(const std::string& path, const MappedFile& inspected) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
  const int directory = KeptFiles::of_process().directory(parent);
  std::string by = concat("/proc/self/fd/", directory, path.substr(slash));
  struct stat about {};
  // /proc may be absent.
  if (directory < 0 || ::stat(by.c_str(), &about) != 0) {
    by = path;
    if (::stat(path.c_str(), &about) != 0) about = {};
  }
  if (identity_of(about) == inspected.identity()) return by;
  return replaced(Message(path, " is another file than the inspected one"));
}

}  // namespace

Failure linker_error(const std::string& path, std::string_view message) {
  const auto contains = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  const auto word_after = [&](std::string_view words) {
    const std::size_t at = message.find(words) + words.size();
    return message.substr(at, message.find_first_of(" ,\n", at) - at);
  };
  const std::string_view subject = message.substr(0, message.find(':'));
  if (states_open_files(message)) {
    return exhausted(path, ": ", message, open_files_remedy).with_reason(reason::exhausted.tag);
  }
  if (contains("undefined symbol: ")) {
    return unavailable(path, ": no library defines ", symbol_text(word_after("undefined symbol: ")),
                       ", which ", subject,
                       " needs: it was built against another version of one of its libraries")
        .with_reason(reason::symbol_missing.tag);
  }
  // "/p/a.so: symbol f version V_1 not defined in file libb.so.1 with link time reference"
  if (contains(": symbol ") && contains(" version ") && contains(" not defined in file ")) {
    const std::string_view file = word_after(" not defined in file ");
    return unavailable(path, ": ", file, " does not define ", symbol_text(word_after(": symbol ")),
                       " of version ", word_after(" version "), ", which ", subject,
                       " needs: it was built against another version of ", file)
        .with_reason(reason::symbol_missing.tag);
  }
  if (contains("version `") && contains("not found")) {
    return unavailable(path, ": ", message).with_reason(reason::version_needed.tag);
  }
  if (contains("static TLS")) {
    return unavailable(path, ": ", message, ": build it with -ftls-model=global-dynamic")
        .with_reason(reason::static_tls.tag);
  }
  if (contains("executable stack"))
    return unsupported(path, ": ", message).with_reason(reason::exec_stack.tag);
  if (contains("cannot open shared object file")) {
    return unavailable(path, ": ", message).with_reason(reason::lib_needed_missing.tag);
  }
  return unavailable(path, ": ", message).with_reason(reason::linker.tag);
}

Result<LibraryHandle> LibraryHandle::open(const std::string& path, const MappedFile& inspected) {
  using boost::dll::load_mode::type;
  GANTRY_TRY(const std::string by, linker_path(path, inspected));
  boost::dll::shared_library library;
  boost::dll::fs::error_code failed;
  dlerror();
  try {
    library.load(by, static_cast<type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), failed);
  } catch (const std::bad_alloc&) {
    // of Boost
    return exhausted(path, ": out of memory while opening it").with_reason(reason::linker.tag);
  } catch (...) {
    // Of a library's constructor, behind which the linker keeps its locks.
    std::terminate();
  }
  if (failed || !library.is_loaded()) {
    // Boost reports "bad file descriptor" for every failure, so the linker's message is read first.
    const char* message = dlerror();
    Failure error = linker_error(path, message ? replace_text(message, by, path)
                                               : "the linker rejects it without a message");
    if (!is_on_noexec(inspected.descriptor())) return error;
    return std::move(error).at(path.substr(0, path.rfind('/')),
                               " is on a file system that is mounted noexec, from which no library "
                               "can be opened");
  }
  void* const handle = library.native();
  const KeptLibrary* const own = KeptFiles::of_process().add({std::move(library), path});
  // For debuggers and dladdr(). The linker also remembers the name by which it was opened.
  link_map* const map = link_map_of(handle);
  if (own != nullptr && map != nullptr && by == map->l_name)
    map->l_name = const_cast<char*>(own->path.c_str());
  return LibraryHandle(handle, path, own == nullptr);
}

void* LibraryHandle::symbol(const char* name) const { return dlsym(handle_, name); }

Status LibraryHandle::confirm(const MappedFile& inspected) const {
  const std::string difference = difference_of(handle_, inspected);
  if (difference.empty()) return {};
  if (was_open_) return stale_library(path_, false);
  return replaced(
      Message(path_, ": the mapped library is another file than the inspected one: ", difference));
}

}  // namespace gantry
