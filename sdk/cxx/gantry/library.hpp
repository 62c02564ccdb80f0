// SPDX-License-Identifier: Apache-2.0
//
// gantry/library.hpp - a driver's library, opened at run time by a table of symbols, so that a plugin loads (and
// can say what is missing) on a machine without the driver.
//
//     struct Driver { CUresult (*init)(unsigned); CUresult (*launch_ex)(...); };
//     GANTRY_TRY(const Library library, Library::open("CUDA driver", {"libcuda.so.1", "libcuda.so"}));
//     GANTRY_CHECK(library.bind({required("cuInit", driver.init), optional("cuLaunchKernelEx", driver.launch_ex)}));
//
// A library is never closed: drivers start threads and leave destructors behind that need their code.
#pragma once

#include <gantry/result.hpp>

#include <dlfcn.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace gantry {

// One function pointer to fill in.
struct LibrarySymbol {
  const char* name;
  // of a function pointer
  void* slot;
  bool is_required;
};

template <class Function>
LibrarySymbol required(const char* name, Function*& slot) {
  static_assert(std::is_function_v<Function> && sizeof(Function*) == sizeof(void*));
  return {name, &slot, true};
}
template <class Function>
LibrarySymbol optional(const char* name, Function*& slot) {
  LibrarySymbol symbol = required(name, slot);
  symbol.is_required = false;
  return symbol;
}

class Library {
 public:
  // Opens the first library that opens, with everything it needs bound at once and nothing of it made global.
  //
  // what     [in]   who it is, for messages: "CUDA driver"
  // names    [in]   sonames or paths, in order of preference; at least one
  // returns  UNAVAILABLE (DRIVER_MISSING)  none opens; the text has every name with the linker's own reason
  // thread   any; the linker serialises
  static Result<Library> open(std::string_view what, std::initializer_list<const char*> names) {
    std::string reasons;
    for (const char* name : names) {
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(what, name, handle);
      const char* reason = dlerror();
      reasons.append(
          concat(reasons.empty() ? "" : "; ", name, ": ", reason ? reason : "no reason given"));
    }
    return unavailable(what, " is missing, tried ", names.size(), " names: ", reasons)
        .with_reason("DRIVER_MISSING");
  }

  // The name that opened.
  const std::string& name() const { return name_; }

  // NULL where the library has no such symbol.
  void* find(const char* symbol) const { return dlsym(handle_, symbol); }

  // Fills every slot; that of an optional symbol which is not there becomes NULL.
  //
  // returns  UNAVAILABLE (DRIVER_SYMBOL)  required symbols are missing, all of them named; every slot is NULL then
  Status bind(std::initializer_list<LibrarySymbol> symbols) const {
    std::string missing;
    std::size_t missing_count = 0;
    for (const LibrarySymbol& symbol : symbols) {
      void* address = find(symbol.name);
      fill(symbol, address);
      if (address != nullptr || !symbol.is_required) continue;
      missing.append(missing_count++ == 0 ? "" : ", ").append(symbol.name);
    }
    if (missing_count == 0) return {};
    for (const LibrarySymbol& symbol : symbols) fill(symbol, nullptr);
    return unavailable(what_, " in ", name_, " lacks ", missing_count, " of ", symbols.size(),
                       " functions: ", missing)
        .with_reason("DRIVER_SYMBOL");
  }

 private:
  Library(std::string_view what, const char* name, void* handle)
      : what_(what), name_(name), handle_(handle) {}

  // The slot's type is some pointer to function: only its bytes may be touched here.
  static void fill(const LibrarySymbol& symbol, void* address) {
    std::memcpy(symbol.slot, &address, sizeof address);
  }

  std::string what_;
  std::string name_;
  void* handle_;
};

}  // namespace gantry
