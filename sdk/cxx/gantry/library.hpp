// SPDX-License-Identifier: Apache-2.0
//
// gantry/library.hpp - opens a driver's library at run time and binds a table of symbols, so that
// the plugin can be loaded without the driver and can report what is missing.
//
//     struct Driver {
//       int (*init)(unsigned) = nullptr;
//       int (*launch_ex)(const void*) = nullptr;
//     };
//     GANTRY_TRY(const Library library, Library::open("CUDA driver", {"libcuda.so.1"}));
//     GANTRY_CHECK(library.bind(
//         {required("cuInit", driver.init), optional("cuLaunchKernelEx", driver.launch_ex)}));
//
// A library is never closed, because drivers start threads and register destructors that use its
// code.
#pragma once

#include <gantry/concat.hpp>
#include <gantry/result.hpp>

#include <dlfcn.h>

#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace gantry {

// A function pointer and the symbol that it is set to.
struct LibrarySymbol {
  const char* name;
  // Address of the function pointer.
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
  static Result<Library> open(std::string_view what, std::initializer_list<const char*> names) {
    return open(what, std::span(names.begin(), names.size()));
  }
  // Opens the first library that can be opened (RTLD_NOW, RTLD_LOCAL).
  //
  // what     [in]   for messages: "CUDA driver"
  // names    [in]   sonames or paths, in order of preference; at least one
  // returns  UNAVAILABLE (DRIVER_MISSING)  no library can be opened; the text has a line for
  //                                        every name, with the linker's message, indented by four
  // thread   any
  static Result<Library> open(std::string_view what, std::span<const char* const> names) {
    Error missing = unavailable(what, " is missing, tried ", names.size(),
                                names.size() == 1 ? " name" : " names")
                        .with_reason("DRIVER_MISSING");
    for (const char* name : names) {
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(what, name, handle);
      const char* const found = dlerror();
      std::string_view reason = found != nullptr ? found : "no reason given";
      // The linker's message of a missing file begins with its name.
      const std::string beginning = concat(name, ": ");
      if (reason.starts_with(beginning)) reason.remove_prefix(beginning.size());
      missing.at("  ", name, ": ", reason);
    }
    return missing;
  }

  // Returns the name of the library that was opened.
  const std::string& name() const { return name_; }

  // Returns the address of a symbol, or NULL if the library does not define it.
  void* find(const char* symbol) const { return dlsym(handle_, symbol); }

  // Sets every slot. The slot of a missing optional symbol is set to NULL.
  //
  // returns  UNAVAILABLE (DRIVER_SYMBOL)  required symbols are missing; the text names all of them,
  //                                       and every slot is set to NULL
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

  // Copies bytes, because the function type of the slot is not known here.
  static void fill(const LibrarySymbol& symbol, void* address) {
    std::memcpy(symbol.slot, &address, sizeof address);
  }

  std::string what_;
  std::string name_;
  void* handle_;
};

}  // namespace gantry
