// SPDX-License-Identifier: Apache-2.0
//
// gantry/plugin.hpp - exposes a class as a plugin.
//
//     class Plugin {
//      public:
//       using Loaders = gantry::Types<Module>;       // optional; see loader.hpp
//       using Devices = gantry::Types<Device>;       // optional; see device.hpp
//
//       explicit Plugin(gantry::Host given) : host(given) {}
//       gantry::Host host;
//     };
//     GANTRY_PLUGIN(Plugin)
//
// Id and version are the manifest's, of which gantry_add_plugin() makes GANTRY_PLUGIN_ID and
// GANTRY_PLUGIN_VERSION. A class that is built in another way, or is linked into a program, defines the
// two, or has
//
//     static constexpr gantry::PluginIdentity identity{.id = "acme.npu", .version = "1.0.0"};
//
// One object is created for each runtime: by `static Result<std::unique_ptr<Plugin>> create(Host)`
// if the class has it, otherwise by the constructor. If the class has `functions()`,
// `named_functions()` or `find()`, as in module.hpp, compiled code can call them; the plugin then has
// the extension gantry.globals/1. With `build()`, as in generator.hpp, it has gantry.generator/1.
#pragma once

#include <gantry/globals.h>
#include <gantry/note.h>
#include <gantry/plugin.h>
#include <gantry/device.hpp>
#include <gantry/generator.hpp>
#include <gantry/loader.hpp>
#include <gantry/method.hpp>

#include <cstddef>
#include <string_view>

namespace gantry {

struct PluginIdentity {
  // "vendor.name", as in the manifest
  const char* id;
  // As in the manifest.
  const char* version;
  // Shown to users where there is no manifest, like the next two. NULL: not stated.
  const char* vendor = nullptr;
  const char* display_name = nullptr;
  const char* license = nullptr;
};

// A list of classes.
template <class... T>
struct Types {};

namespace detail {

template <class P>
consteval PluginIdentity identity_of() {
  if constexpr (requires { P::identity; }) {
    return P::identity;
  } else {
#if defined(GANTRY_PLUGIN_ID) && defined(GANTRY_PLUGIN_VERSION)
    return {.id = GANTRY_PLUGIN_ID, .version = GANTRY_PLUGIN_VERSION};
#else
    static_assert(sizeof(P) == 0,
                  "a plugin has `identity`, or is built with gantry_add_plugin(), which defines "
                  "GANTRY_PLUGIN_ID and GANTRY_PLUGIN_VERSION");
    return {};
#endif
  }
}

// Addresses of the tables. The last element is NULL, because an array must not be empty.
template <class P, class... L>
constexpr const gantry_loader_table* loader_tables[] = {&loader_table<P, L>..., nullptr};
template <class P, class... D>
constexpr const gantry_device_table* device_tables[] = {&device_table<P, D>..., nullptr};

template <class P, class... L>
constexpr void set_loaders(gantry_plugin_table& table, Types<L...>) {
  table.loaders = sizeof...(L) != 0 ? loader_tables<P, L...> : nullptr;
  table.loader_count = sizeof...(L);
}
template <class P, class... D>
constexpr void set_devices(gantry_plugin_table& table, Types<D...>) {
  table.devices = sizeof...(D) != 0 ? device_tables<P, D...> : nullptr;
  table.device_count = sizeof...(D);
}

template <class P>
gantry_code create(const gantry_host* table, void** self, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const Host host(table);
    if constexpr (requires { P::create(host); }) {
      GANTRY_TRY(std::unique_ptr<P> plugin, P::create(host));
      *self = plugin.release();
    } else {
      *self = new P(host);
    }
    return {};
  });
}

template <class P>
inline constexpr gantry_globals globals_table = {
    .struct_size = sizeof(gantry_globals),
    .zero = 0,
    .get_global = get_function<P>,
};

template <class P>
consteval gantry_plugin_table make_plugin_table() {
  constexpr PluginIdentity identity = identity_of<P>();
  gantry_plugin_table table{};
  table.struct_size = sizeof table;
  table.abi = GANTRY_PLUGIN_ABI;
  table.id = identity.id;
  table.version = identity.version;
  table.vendor = identity.vendor;
  table.display_name = identity.display_name;
  table.license = identity.license;
  if constexpr (requires { typename P::Loaders; }) set_loaders<P>(table, typename P::Loaders());
  if constexpr (requires { typename P::Devices; }) set_devices<P>(table, typename P::Devices());
  table.create = create<P>;
  table.destroy = [](void* self) { delete static_cast<P*>(self); };
  if constexpr (HasFunctions<P> || HasBuild<P>) {
    table.get_extension = [](void*, const char* id) -> const void* {
      const std::string_view name(id);
      if constexpr (HasFunctions<P>) {
        if (name == GANTRY_GLOBALS_1) return &globals_table<P>;
      }
      if constexpr (HasBuild<P>) {
        if (name == GANTRY_GENERATOR_1) return &generator_table<P>;
      }
      return nullptr;
    };
  }
  return table;
}

// A text that is too long for the note does not compile.
template <std::size_t N>
consteval void copy_text(char (&to)[N], const char* text) {
  std::size_t i = 0;
  for (; text[i] != 0; ++i) to[i] = text[i];
  to[i] = 0;
}

template <class P>
consteval gantry_elf_note make_note() {
  gantry_elf_note note = GANTRY_ELF_NOTE("", "");
  copy_text(note.content.id, identity_of<P>().id);
  copy_text(note.content.version, identity_of<P>().version);
  return note;
}

}  // namespace detail

template <class P>
inline constexpr gantry_plugin_table plugin_table = detail::make_plugin_table<P>();

// Implements gantry_plugin_query_v1.
//
// returns  NULL if the core has another major version of the ABI (UNSUPPORTED, ABI_RANGE)
template <class P>
const gantry_plugin_table* query(const gantry_host_info* host_info, gantry_status* status) {
  if (host_info->abi.major == GANTRY_ABI_MAJOR) return &plugin_table<P>;
  const Failure failure =
      unsupported("plugin ", plugin_table<P>.id, " ", plugin_table<P>.version, " is built for ABI ",
                  GANTRY_ABI_MAJOR, ", this core has ABI ", host_info->abi.major,
                  ": install the plugin that was built for this core")
          .with_reason("ABI_RANGE");
  to_status(failure.error(), status);
  return nullptr;
}

}  // namespace gantry

// Defines the entry point of the plugin and its note (note.h). Use it once in a plugin, outside of
// all namespaces.
#define GANTRY_PLUGIN(...)                                                             \
  const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info* host_info, \
                                                    gantry_status* status) {           \
    return ::gantry::query<__VA_ARGS__>(host_info, status);                            \
  }                                                                                    \
  static constexpr gantry_elf_note gantry_note_of_plugin GANTRY_NOTE_ATTRIBUTES =      \
      ::gantry::detail::make_note<__VA_ARGS__>();                                      \
  static_assert(sizeof(__VA_ARGS__) != 0)
