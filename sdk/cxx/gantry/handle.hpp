// SPDX-License-Identifier: Apache-2.0
//
// gantry/handle.hpp - Host, a C++ class for the host's function table.
//
//     const gantry::Host host(raw);                         // valid as long as the plugin
//     GANTRY_TRY(gantry::Value name, host.text("axpy"));    // owns one reference
//     GANTRY_TRY(gantry::Value info, host.map({{name, shape}}));
//     *result = info.take();                                // transferred to the caller
#pragma once

#include <gantry/host.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/device_name.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// The host's functions with Result instead of codes. Errors contain the host's text. Has the size
// of a pointer.
//
// thread   any
class Host {
 public:
  // table    [in]   valid as long as the plugin
  explicit Host(const gantry_host* table) : table_(table) {}
  const gantry_host* table() const { return table_; }

  void log(std::int32_t level, const Message& text) const {
    table_->log(table_, level, bytes_of(text.text()));
  }
  bool is_cancelled(const gantry_env* env) const { return table_->is_cancelled(table_, env) != 0; }
  // Called in each step of work whose number of steps a file or an argument decides.
  //
  // env      [in]   may be NULL
  // returns  CANCELLED  the task of the call is cancelled, or its time is over
  Status check_task(const gantry_env* env) const {
    if (env == nullptr || env->task == nullptr || !is_cancelled(env)) return {};
    return cancelled("run is cancelled").with_reason("CANCELLED");
  }

  // Returns an option of the plugin, or "threads" or "cache_directory"; nullopt if it has no value.
  //
  // lifetime a text in it is valid as long as the host
  std::optional<gantry_value> option(std::string_view key) const {
    gantry_value value{};
    if (table_->config_get(table_, bytes_of(key), &value, nullptr) != GANTRY_OK) return {};
    return value;
  }
  // Returns "" if the option has no value or is not a text.
  std::string option_text(std::string_view key) const {
    const auto value = option(key);
    return std::string(value ? value_text(*value).value_or("") : "");
  }

  // Returns an extension, a table of functions, by its name; NULL if this host does not provide it.
  template <class Table>
  const Table* extension(const char* id) const {
    return static_cast<const Table*>(table_->get_extension(table_, id));
  }

  // Each copies its argument.
  Result<Value> text(std::string_view text) const { return new_text(GANTRY_STRING, text); }
  Result<Value> bytes(std::string_view bytes) const { return new_text(GANTRY_BYTES, bytes); }
  Result<Value> shape(std::span<const std::int64_t> dims) const {
    return made("shape_new", &gantry_host::shape_new, dims.data(), dims.size());
  }
  // The items are retained.
  Result<Value> array(std::span<const Value> items) const {
    std::vector<gantry_value> flat;
    flat.reserve(items.size());
    for (const Value& item : items) flat.push_back(item.get());
    return new_items(GANTRY_ARRAY, flat);
  }
  using Entry = std::pair<Value, Value>;
  Result<Value> map(std::span<const Entry> entries) const {
    std::vector<gantry_value> flat;
    flat.reserve(2 * entries.size());
    for (const auto& [key, value] : entries) {
      flat.push_back(key.get());
      flat.push_back(value.get());
    }
    return new_items(GANTRY_MAP, flat);
  }
  Result<Value> array(std::initializer_list<Value> items) const {
    return array(std::span(items.begin(), items.size()));
  }
  Result<Value> map(std::initializer_list<Entry> entries) const {
    return map(std::span(entries.begin(), entries.size()));
  }

  // like     [in]   device, dtype and shape; other members are ignored
  // scope    [in]   memory scope of the device; empty: "global"
  Result<Value> tensor_new(const gantry_tensor& like, std::string_view scope = {}) const {
    return made("tensor_new", &gantry_host::tensor_new, &like, bytes_of(scope), 0u);
  }
  // owner    [in]   keeps what->data alive; retained
  Result<Value> tensor_view(const gantry_tensor& what, gantry_object* owner) const {
    return made("tensor_view", &gantry_host::tensor_view, &what, owner, 0u);
  }
  Status tensor_copy(const gantry_tensor& from, const gantry_tensor& to,
                     const gantry_env* env) const {
    return called("tensor_copy", &gantry_host::tensor_copy, &from, &to, env);
  }
  // Returns a new tensor with the elements of another one, which may be on another device.
  Result<Value> tensor_copied(const gantry_tensor& from, gantry_device_id device,
                              const gantry_env* env, std::string_view scope = {}) const {
    gantry_tensor like = from;
    like.device = device;
    GANTRY_TRY(Value copy, tensor_new(like, scope));
    GANTRY_CHECK(tensor_copy(from, *copy.tensor(), env));
    return copy;
  }

  // kind     [in]   name of the exception: "ValueError"
  Result<Value> error(std::string_view kind, std::string_view text) const {
    gantry_error what{};
    what.kind = bytes_of(kind);
    what.message = bytes_of(text);
    return made("error_new", &gantry_host::error_new, &what);
  }

  // Creates a module. The caller owns the pair until this succeeds.
  //
  // parent      [in]   kept alive; the new module shares its imports; may be NULL
  // device_type [in]   where its functions run, as device_type() returns it; 0: the host
  Result<Value> module_new(gantry_object* parent, gantry_module module,
                           std::int32_t device_type = 0) const {
    return made("module_new", &gantry_host::module_new, parent, module, device_type);
  }
  // Creates a function, like module_new().
  Result<Value> function_new(gantry_object* parent, gantry_function function,
                             std::int32_t device_type = 0) const {
    return made("function_new", &gantry_host::function_new, parent, function, device_type);
  }
  // Creates an opaque object from a pointer. The caller owns the pointer until this succeeds.
  Result<Value> object_new(const gantry_object_type& type, void* self) const {
    return made("object_new", &gantry_host::object_new, &type, self);
  }
  // returns  INVALID  the object is not opaque, or of another type
  Result<void*> object_get(gantry_object* object, const gantry_object_type& type) const {
    return got<void*>("object_get", &gantry_host::object_get, object, &type);
  }
  // returns  INVALID  the object is not a module
  // lifetime texts in it are valid as long as the module
  Result<gantry_module_info> module_info(gantry_object* module) const {
    gantry_module_info info{};
    info.struct_size = sizeof info;
    GANTRY_CHECK(called("module_info", &gantry_host::module_info, module, &info));
    return info;
  }

  // Returns a value that may outlive the call that has `borrowed` as an argument: objects are
  // retained, borrowed texts are copied.
  //
  // returns  INVALID  `borrowed` is a tensor by reference, which cannot be kept (ARGUMENT_KIND)
  Result<Value> keep(const gantry_value& borrowed) const {
    if (borrowed.kind == GANTRY_TENSOR_REF) {
      return invalid("value is a tensor by reference, which cannot be kept")
          .with_reason("ARGUMENT_KIND");
    }
    const auto bytes = value_text(borrowed);
    if (borrowed.kind == GANTRY_CSTRING) return new_text(GANTRY_STRING, *bytes);
    if (borrowed.kind == GANTRY_BYTES_REF) return new_text(GANTRY_BYTES, *bytes);
    if (borrowed.kind >= GANTRY_OBJECT) gantry_retain(borrowed.object);
    return Value::adopt(borrowed);
  }

  // Returns the items of an array or a map (key, value, key, value).
  //
  // lifetime as long as the object
  Result<std::span<const gantry_value>> items(gantry_object* object) const {
    const gantry_value* items = nullptr;
    std::uint64_t count = 0;
    GANTRY_CHECK(called("items_get", &gantry_host::items_get, object, &items, &count));
    return std::span(items, count);
  }

  // where    [in]   GANTRY_FIND_*
  Result<ObjectRef> find(gantry_object* module, std::uint32_t where, std::string_view name) const {
    GANTRY_TRY(gantry_object* const function,
               got<gantry_object*>("find", &gantry_host::find, module, where, bytes_of(name)));
    return ObjectRef::adopt(function);
  }
  // Like find(), but returns an empty reference if there is no such function. The host then lists
  // no locations, which takes longer than the look-up.
  Result<ObjectRef> find_optional(gantry_object* module, std::uint32_t where,
                                  std::string_view name) const {
    gantry_object* function = nullptr;
    const gantry_code code =
        table_->find(table_, module, where, bytes_of(name), &function, nullptr);
    if (code == GANTRY_OK) return ObjectRef::adopt(function);
    if (code == GANTRY_NOT_FOUND) return ObjectRef();
    return find(module, where, name);
  }
  Result<Value> call(gantry_object* function, const gantry_env* env,
                     std::span<const gantry_value> args) const {
    return made("call", &gantry_host::call, function, env, args.data(),
                static_cast<std::int32_t>(args.size()));
  }

  // Returns the device type of a name: "cuda".
  Result<std::int32_t> device_type(std::string_view name) const {
    return got<std::int32_t>("device_type", &gantry_host::device_type, bytes_of(name));
  }
  // Translates a device type in the module's artifact to that of the runtime.
  Result<std::int32_t> device_type_in(gantry_object* module, std::int32_t number) const {
    return got<std::int32_t>("device_type_in", &gantry_host::device_type_in, module, number);
  }
  // Returns a device of any plugin. Valid as long as the host.
  Result<gantry_device> device(gantry_device_id id) const {
    return got<gantry_device>("device_get", &gantry_host::device_get, id);
  }
  // Returns the text of a device for messages: "opencl:0", and "acme_npu:0" where the runtime has
  // assigned the number.
  //
  // costs    for an assigned number as device()
  std::string device_text(gantry_device_id id) const {
    if (!dlpack_name(id.type).empty()) return gantry::device_text(id);
    const auto found = device(id);
    return found.ok() ? device_text_of(*found) : gantry::device_text(id);
  }

 private:
  // Calls a function of the table.
  template <class Function, class... Arguments>
  Status called(std::string_view name, Function gantry_host::*function,
                const Arguments&... arguments) const {
    StatusBuffer status;
    const gantry_code code = (table_->*function)(table_, arguments..., status.get());
    if (code == GANTRY_OK) return {};
    return status.error(code, concat("host function ", name));
  }
  // Also returns its output, the last parameter but the status.
  template <class T, class Function, class... Arguments>
  Result<T> got(std::string_view name, Function gantry_host::*function,
                const Arguments&... arguments) const {
    T out{};
    GANTRY_CHECK(called(name, function, arguments..., &out));
    return out;
  }
  template <class Function, class... Arguments>
  Result<Value> made(std::string_view name, Function gantry_host::*function,
                     const Arguments&... arguments) const {
    GANTRY_TRY(const gantry_value out, got<gantry_value>(name, function, arguments...));
    return Value::adopt(out);
  }
  Result<Value> new_text(std::int32_t kind, std::string_view text) const {
    return made("text_new", &gantry_host::text_new, kind, bytes_of(text));
  }
  Result<Value> new_items(std::int32_t kind, const std::vector<gantry_value>& items) const {
    return made("items_new", &gantry_host::items_new, kind, items.data(), items.size());
  }

  const gantry_host* table_;
};

}  // namespace gantry
