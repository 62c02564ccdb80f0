// SPDX-License-Identifier: Apache-2.0
//
// gantry/loader.hpp - exposes a class as the loader of one type key. Usually it is the class of the
// module.
//
//     class Module {
//      public:
//       static constexpr gantry::LoaderIdentity identity{.type_key = "acme.model"};
//
//       static gantry::Result<std::unique_ptr<Module>> load(Plugin& plugin, gantry::Blob& blob);
//       // Optional: GANTRY_VERDICT_*
//       static gantry::Result<std::int32_t> check(Plugin& plugin, gantry::Blob& blob,
//                                                 std::int32_t device_index);
//     };
//
//     gantry::Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, gantry::Blob& blob) {
//       GANTRY_TRY(const std::string_view note, blob.reader().read_string("note"));
//       return std::make_unique<Module>(plugin.host, note, blob.keep());
//     }
//
// The payload ends at the reader's position after load() and check(). If the length of the payload
// is known and bytes are left, the result is MALFORMED (BLOB_TRAILING).
#pragma once

#include <gantry/loader.h>
#include <gantry/blob.hpp>
#include <gantry/module.hpp>

#include <cstdint>
#include <memory>

namespace gantry {

struct LoaderIdentity {
  const char* type_key;
  // Kind of the device on which its functions run. NULL: the host.
  const char* device = nullptr;
  // True if load() may run on several threads at once.
  bool is_parallel = false;
};

namespace detail {

template <class M>
gantry_module to_module(std::unique_ptr<M> module) {
  return {module.release(), &module_table<M>};
}

template <class P, class L>
gantry_code load_binary(void* plugin, const gantry_blob* raw, gantry_object* node,
                        gantry_module* out, std::uint64_t* consumed, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Blob blob(*raw, node);
    GANTRY_TRY(auto module, L::load(*static_cast<P*>(plugin), blob));
    GANTRY_CHECK(blob.check_end(blob.reader()));
    *out = to_module(std::move(module));
    *consumed = blob.reader().offset();
    return {};
  });
}

template <class P, class L>
gantry_code check_binary(void* plugin, const gantry_blob* raw, std::int32_t device_index,
                         std::int32_t* verdict, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Blob blob(*raw);
    GANTRY_TRY(const std::int32_t found, L::check(*static_cast<P*>(plugin), blob, device_index));
    GANTRY_CHECK(blob.check_end(blob.reader()));
    *verdict = found;
    return {};
  });
}

template <class P, class L>
consteval gantry_loader_table make_loader_table() {
  gantry_loader_table table{};
  table.struct_size = sizeof table;
  table.flags = L::identity.is_parallel ? GANTRY_LOADER_PARALLEL : 0;
  table.type_key = L::identity.type_key;
  table.device = L::identity.device;
  table.load_binary = load_binary<P, L>;
  if constexpr (requires(P & plugin, Blob & blob) { L::check(plugin, blob, 0); })
    table.check_binary = check_binary<P, L>;
  return table;
}

}  // namespace detail

// P is the plugin's class, L the loader's.
template <class P, class L>
inline constexpr gantry_loader_table loader_table = detail::make_loader_table<P, L>();

}  // namespace gantry
