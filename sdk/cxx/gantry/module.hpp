// SPDX-License-Identifier: Apache-2.0
//
// gantry/module.hpp - exposes a class as a module of the ABI.
//
//     class Module {
//      public:
//       static constexpr const char* type_name = "acme.model";   // default: the type key
//       static constexpr bool is_serial = true;                  // default: calls run in parallel
//
//       // Functions with fixed names:
//       static constexpr auto functions() {
//         return std::array{gantry::method<&Module::run, "run()">,
//                           gantry::method<&Module::input, "input(name or index)">,
//                           gantry::method<&Module::set_input, "set_input(name, tensor)">};
//       }
//       // Functions with names from the payload, such as kernels, in a map:
//       std::map<std::string, Kernel, std::less<>>& named_functions() { return kernels_; }
//
//       gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }
//       // What the first calls on these devices would do once:
//       gantry::Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);
//     };
//
// A module has functions(), or named_functions(), or both. save() and prepare() are optional, and what
// makes it a model (model.hpp). named_functions() returns a reference to a map of the module, which
// serves look-ups and lists: of names to objects, or to pointers to objects, that have
// `Status call(const Call&)` or `Result<Value> call(const Call&)`. Instead of a map, for functions that
// a look-up makes or refuses, a module has both of
//
//     Result<Kernel*> find(std::string_view name);  // or Kernel*; NULL: no such function
//     std::vector<std::string_view> names() const;  // that find() finds
#pragma once

#include <gantry/handle.hpp>
#include <gantry/method.hpp>
#include <gantry/model.hpp>
#include <gantry/sink.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gantry {

namespace detail {

template <class M>
concept HasMethods = requires(M& module) {
  module.functions();
};
template <class M>
concept HasFunctionMap = requires(M& module) {
  module.named_functions();
};
template <class M>
concept HasFind = requires(M& module, std::string_view name) {
  module.find(name);
};
template <class M>
concept HasFunctions = HasMethods<M> || HasFunctionMap<M> || HasFind<M>;
template <class M>
concept IsSaved = requires(const M& module, const Sink& sink) {
  module.save(sink);
};

template <class M>
concept IsPrepared = requires(M& module, const gantry_env& env,
                              std::span<const gantry_device_id> devices) {
  module.prepare(env, devices);
};

template <class Function>
gantry_code call_function(void* self, const gantry_env* env, const gantry_value* args,
                          std::int32_t count, gantry_value* result, gantry_status* status) {
  const Call call{{}, env, arguments_of(args, count)};
  return run_call(result, status, [&] { return static_cast<Function*>(self)->call(call); });
}

template <class Function>
inline constexpr gantry_function_table function_table = {
    .struct_size = sizeof(gantry_function_table),
    .flags = 0,
    .destroy = nullptr,
    .call = call_function<Function>,
};

// Converts the result of find() to that of get_function. Returns false if there is no such
// function.
template <class Function>
bool to_function(Function* found, gantry_function& out) {
  if (found == nullptr) return false;
  out = {found, &function_table<Function>};
  return true;
}
template <class Function>
bool to_function(Function& found, gantry_function& out) {
  return to_function(&found, out);
}
inline bool to_function(ObjectRef found, gantry_function& out) {
  if (!found) return false;
  out = {found.take(), nullptr};
  return true;
}

// What a look-up returns, T or Result<T>, as a Result: Clang 14 deduces no template argument from both.
template <class T>
Result<T> result_of(T found) {
  return found;
}
template <class T>
Result<T> result_of(Result<T> found) {
  return found;
}

template <class M>
gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    M& module = *static_cast<M*>(self);
    if constexpr (HasMethods<M>) {
      if (const gantry_function_table* table = find_method(module.functions(), view_of(name))) {
        *out = {self, table};
        return GANTRY_OK;
      }
    }
    if constexpr (HasFunctionMap<M>) {
      auto& named = module.named_functions();
      const auto found = named.find(view_of(name));
      if (found != named.end() && to_function(found->second, *out)) return GANTRY_OK;
    }
    if constexpr (HasFind<M>) {
      auto found = result_of(module.find(view_of(name)));
      if (!found.ok()) return to_status(found.error(), status);
      if (to_function(std::move(found).value(), *out)) return GANTRY_OK;
    }
    return GANTRY_NOT_FOUND;
  });
}

template <class M>
gantry_code list_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    M& module = *static_cast<M*>(self);
    if constexpr (HasMethods<M>) {
      if (const gantry_code code = visit_methods(*visitor, module.functions(), status)) return code;
    }
    if constexpr (HasFunctionMap<M>) {
      for (const auto& [name, function] : module.named_functions()) {
        if (const gantry_code code = visit_function(*visitor, name, {}, status)) return code;
      }
    }
    if constexpr (HasFind<M>) {
      for (const std::string_view name : module.names()) {
        if (const gantry_code code = visit_function(*visitor, name, {}, status)) return code;
      }
    }
    return GANTRY_OK;
  });
}

template <class M>
gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  return abi_boundary(status, [&] { return static_cast<const M*>(self)->save(Sink(*sink)); });
}

template <class M>
gantry_code prepare(void* self, const gantry_env* env, const gantry_prepare* what,
                    gantry_status* status) {
  return abi_boundary(status, [&] {
    return static_cast<M*>(self)->prepare(*env, std::span(what->devices, what->device_count));
  });
}

template <class M>
consteval gantry_module_table make_module_table() {
  static_assert(HasFunctions<M>, "a module has functions(), or named_functions()");
  if constexpr (HasFind<M>) {
    static_assert(
        requires(M & module) { module.names(); },
        "a module with find() has names(), or named_functions() instead of both");
  }
  if constexpr (HasMethods<M>) {
    using Functions = std::remove_cvref_t<decltype(std::declval<M&>().functions())>;
    static_assert(std::same_as<std::ranges::range_value_t<Functions>, Method<M>>,
                  "functions() lists methods of this very class");
  }
  gantry_module_table table{};
  table.struct_size = sizeof table;
  if constexpr (requires { M::is_serial; }) table.flags = M::is_serial ? GANTRY_MODULE_SERIAL : 0;
  if constexpr (requires { M::type_name; }) {
    table.type_name = M::type_name;
  } else {
    table.type_name = M::identity.type_key;
  }
  table.destroy = [](void* self) { delete static_cast<M*>(self); };
  table.get_function = get_function<M>;
  table.list_functions = list_functions<M>;
  if constexpr (IsSaved<M>) table.save_binary = save_binary<M>;
  if constexpr (IsModel<M>) {
    table.get_extension = [](void*, const char* id) -> const void* {
      return std::string_view(id) == GANTRY_MODEL_1 ? &model_table<M> : nullptr;
    };
  }
  if constexpr (IsPrepared<M>) table.prepare = prepare<M>;
  return table;
}

}  // namespace detail

template <class M>
inline constexpr gantry_module_table module_table = detail::make_module_table<M>();

// Creates a module at run time, for a function that returns one.
//
// parent      [in]   kept alive; the new module shares its imports; may be NULL
// device_type [in]   where its functions run, as Host::device_type() returns it; 0: the host
template <class M>
Result<Value> new_module(const Host& host, gantry_object* parent, std::unique_ptr<M> module,
                         std::int32_t device_type = 0) {
  GANTRY_TRY(Value made, host.module_new(parent, {module.get(), &module_table<M>}, device_type));
  // The host owns the module now.
  (void)module.release();
  return made;
}

}  // namespace gantry
