// SPDX-License-Identifier: Apache-2.0
//
// The module of a payload: it stands before the modules that use its constants.
//
//     caller --- look-up of "main_0" ---> this module
//                                           |  the first time: __init_main_0([constant, ...])
//                                           v
//                                         import that has main_0
#pragma once

#include "initialization.hpp"
#include "payload.hpp"

#include <gantry/handle.hpp>
#include <gantry/loader.hpp>
#include <gantry/method.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace gantry::const_loader {

struct Plugin;

class Module {
 public:
  // The manifest declares the older name, metadata, as an alias.
  static constexpr LoaderIdentity identity{.type_key = "const_loader", .is_parallel = true};
  static Result<std::unique_ptr<Module>> load(Plugin& plugin, Blob& blob);

  // node     [in]   of this module, borrowed: its imports have the symbols
  Module(Host host, gantry_object* node, Payload payload)
      : host_(host),
        node_(node),
        payload_(std::move(payload)),
        initializations_(payload_.symbols.size()),
        tensors_(payload_.constants.size()) {}

  static constexpr auto functions() {
    return std::array{
        // v0.22 and later
        method<&Module::get_constants, "get_const_var_tensor()">,
        method<&Module::get_constants, "get_const_var_ndarray()">,
    };
  }

  // Returns the imports' function of a symbol, after its import has received the constants.
  //
  // returns  empty if it is not one of the symbols, or no import has it
  //          of the initialization, with a line that names the symbol: a later look-up runs it again
  Result<ObjectRef> find(std::string_view name);
  std::vector<std::string_view> names() const;

  Status save(const Sink& sink) const { return write_payload(payload_, sink); }

  // Returns a map of name to tensor; copies, which the caller may change: those that symbols receive
  // may be the file's bytes.
  Result<Value> get_constants(const Call& call);

 private:
  Status initialize(const Symbol& symbol);
  // Returns the tensor of a constant, which all symbols share.
  Result<Value> tensor_of(std::uint32_t constant);

  Host host_;
  gantry_object* node_;
  Payload payload_;
  Initializations initializations_;
  std::mutex tensors_mutex_;
  // By constant; empty until a symbol uses it.
  std::vector<Value> tensors_;
};

}  // namespace gantry::const_loader
