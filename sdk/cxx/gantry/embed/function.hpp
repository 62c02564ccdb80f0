// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/function.hpp - packed functions: of modules, of the runtime, and of the program.
#pragma once

#include <gantry/call.h>
#include <gantry/embed/any.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace gantry {
inline namespace embed_api {

namespace embed_detail {
// Returns an argument, which borrows what `from` refers to.
template <class T>
gantry_value argument(const T& from) {
  if constexpr (std::is_same_v<T, Any>) {
    return from.value();
  } else if constexpr (std::is_same_v<T, gantry_value>) {
    return from;
  } else if constexpr (std::is_base_of_v<Object, T>) {
    gantry_value value{};
    if (from) value.kind = from.get()->kind;
    value.object = from.get();
    return value;
  } else if constexpr (std::is_same_v<T, gantry_device_id>) {
    return device_value(from);
  } else if constexpr (std::is_same_v<T, bool>) {
    return bool_value(from);
  } else if constexpr (std::is_integral_v<T>) {
    return int_value(static_cast<std::int64_t>(from));
  } else if constexpr (std::is_floating_point_v<T>) {
    return float_value(from);
  } else {
    gantry_value value{};
    value.kind = GANTRY_CSTRING;
    if constexpr (std::is_same_v<T, std::string>) {
      value.cstring = from.c_str();
    } else {
      static_assert(std::is_convertible_v<T, const char*>, "kinds of arguments: gantry/value.h");
      value.cstring = from;
    }
    return value;
  }
}
}  // namespace embed_detail

class Function : public Object {
 public:
  Function() = default;
  // Precondition: `object` is a function.
  explicit Function(ObjectRef object) : Object(std::move(object)) {}

  // Calls the function. The call is compiled into the program: see gantry/call.h.
  //
  // env      [in]   device, stream and task; NULL: device 0 of the function's kind of device, its
  //                 default stream, no task
  // returns  INVALID  the handle is empty (ARGUMENT_KIND); else the error of the function
  // thread   any
  [[gnu::always_inline]] Result<Any> call(std::span<const gantry_value> args,
                                          const gantry_env* env = nullptr) const {
    Result<Any> result{Any()};
    if (args.size() > INT32_MAX) [[unlikely]] {
      result = too_many(args.size());
      return result;
    }
    const auto count = static_cast<std::int32_t>(args.size());
    make(result, [&](gantry_status* status) {
      const gantry_function_cell* const own = cell();
      if (own == nullptr || __atomic_load_n(own->process_phase, __ATOMIC_RELAXED) != 0) [[unlikely]]
        return embed_table().call(get(), env, args.data(), count, result->slot(), status);
      return own->target.table->call(own->target.self, env != nullptr ? env : &own->env,
                                     args.data(), count, result->slot(), status);
    });
    return result;
  }

  // Calls the function with numbers, texts, handles, device ids, values and Any.
  template <class... Args>
  [[gnu::always_inline]] Result<Any> operator()(const Args&... args) const {
    if constexpr (sizeof...(args) == 0) {
      return call({});
    } else {
      // Numbers and tensors are laid out here as packed CPU code takes them.
      if constexpr ((is_packed_argument<Args> && ...)) {
        const gantry_function_cell* const own = cell();
        if (own != nullptr && own->packed != nullptr && (!is_empty(args) && ...) &&
            __atomic_load_n(own->process_phase, __ATOMIC_RELAXED) == 0)
          return call_packed(*own, args...);
      }
      const gantry_value values[] = {embed_detail::argument(args)...};
      return call(values);
    }
  }

 private:
  const gantry_function_cell* cell() const {
    return reinterpret_cast<const gantry_function_cell*>(get());
  }

  // TVMValue.
  union PackedWord {
    std::int64_t i;
    double f;
    void* p;
  };
  template <class T>
  static constexpr bool is_packed_argument =
      std::is_arithmetic_v<T> || std::is_base_of_v<Tensor, T>;
  template <class T>
  static bool is_empty([[maybe_unused]] const T& from) {
    if constexpr (std::is_base_of_v<Object, T>) return !from;
    return false;
  }
  template <class T>
  static PackedWord packed_word(const T& from) {
    if constexpr (std::is_base_of_v<Tensor, T>) {
      return {.p = from.dlpack()};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {.f = from};
    } else {
      return {.i = static_cast<std::int64_t>(from)};
    }
  }
  template <class T>
  static constexpr int packed_code = std::is_base_of_v<Tensor, T>  ? 7
                                     : std::is_floating_point_v<T> ? 2
                                                                   : 0;
  template <class... Args>
  [[gnu::always_inline]] Result<Any> call_packed(const gantry_function_cell& own,
                                                 const Args&... args) const {
    Result<Any> result{Any()};
    PackedWord words[] = {packed_word(args)...};
    int codes[] = {packed_code<Args>...};
    make(result, [&](gantry_status* status) {
      return own.packed(own.target.self, &own.env, words, codes,
                        static_cast<std::int32_t>(sizeof...(args)), result->slot(), status);
    });
    return result;
  }

  // Makes a call. Inlined into each caller, so that the arguments, the status and the result are
  // where the callee reads and writes them.
  //
  // call     [in]   gantry_code(gantry_status*), which writes the result
  template <class Call>
  [[gnu::always_inline]] static void make(Result<Any>& result, Call&& call) {
    StatusBuffer status;
    const gantry_code code = status.call(std::forward<Call>(call));
    if (code != GANTRY_OK || !is_plain(result->value())) [[unlikely]]
      finish(code, status, result);
  }
  // True for the results of nearly all calls; finish() checks the others.
  static bool is_plain(const gantry_value& value) {
    return static_cast<std::uint32_t>(value.kind) <= GANTRY_DEVICE ||
           (value.kind >= GANTRY_OBJECT && value.object != nullptr);
  }
  [[gnu::cold]] [[gnu::noinline]] static Failure too_many(std::size_t count) {
    return invalid("a call has ", count, " arguments, maximum is ", INT32_MAX);
  }
  // Sets the result of a call that failed, or that returned a value that is not plain.
  [[gnu::cold]] [[gnu::noinline]] static void finish(gantry_code code, const StatusBuffer& status,
                                                     Result<Any>& result) {
    const std::int32_t kind = result->value().kind;
    const bool is_object = kind >= GANTRY_OBJECT;
    if (code == GANTRY_OK && (kind == GANTRY_SMALL_STRING || kind == GANTRY_SMALL_BYTES)) return;
    if (code != GANTRY_OK) {
      result = status.error(code, "function");
      return;
    }
    result = bug("function returns ", is_object ? "an object" : "a value", " of kind ", kind,
                 is_object ? " at address 0" : ", which is not a kind of result")
                 .with_reason("RESULT_KIND");
  }
};

inline Result<Function> Any::function() const {
  if (value().kind != GANTRY_FUNCTION) return wrong("a function");
  return Function(ObjectRef::share(value().object));
}

// A function of the program. The arguments are borrowed for the call: gantry/value.hpp and
// gantry/call.hpp read them.
using AddedFunction = std::function<Result<Any>(std::span<const gantry_value> args)>;

namespace embed_detail {
// The functions of an AddedFunction on the heap.
inline constexpr gantry_function_table added_function_table = {
    sizeof(gantry_function_table), 0, [](void* self) { delete static_cast<AddedFunction*>(self); },
    [](void* self, const gantry_env*, const gantry_value* args, std::int32_t count,
       gantry_value* result, gantry_status* status) {
      return abi_boundary(status, [&]() -> Status {
        const auto& function = *static_cast<const AddedFunction*>(self);
        GANTRY_TRY(Any made, function(std::span(args, static_cast<std::size_t>(count))));
        *result = made.take();
        return {};
      });
    }};
}  // namespace embed_detail

}  // namespace embed_api
}  // namespace gantry
