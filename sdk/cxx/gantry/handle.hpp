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

  void log(std::int32_t level, std::string_view text) const {
    table_->log(table_, level, bytes_of(text));
  }
  bool is_cancelled(const gantry_env* env) const { return table_->is_cancelled(table_, env) != 0; }

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
    return made("shape_new", [&](gantry_value* out, gantry_status* status) {
      return table_->shape_new(table_, dims.data(), dims.size(), out, status);
    });
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
    return made("tensor_new", [&](gantry_value* out, gantry_status* status) {
      return table_->tensor_new(table_, &like, bytes_of(scope), 0, out, status);
    });
  }
  // owner    [in]   keeps what->data alive; retained
  Result<Value> tensor_view(const gantry_tensor& what, gantry_object* owner) const {
    return made("tensor_view", [&](gantry_value* out, gantry_status* status) {
      return table_->tensor_view(table_, &what, owner, 0, out, status);
    });
  }
  Status tensor_copy(const gantry_tensor& from, const gantry_tensor& to,
                     const gantry_env* env) const {
    StatusBuffer status;
    return checked("tensor_copy", table_->tensor_copy(table_, &from, &to, env, status.get()),
                   status);
  }

  // Creates a module. The caller owns the pair until this succeeds.
  //
  // parent      [in]   kept alive; the new module shares its imports; may be NULL
  // device_type [in]   where its functions run, as device_type() returns it; 0: the host
  Result<Value> module_new(gantry_object* parent, gantry_module module,
                           std::int32_t device_type = 0) const {
    return made("module_new", [&](gantry_value* out, gantry_status* status) {
      return table_->module_new(table_, parent, module, device_type, out, status);
    });
  }
  // Creates a function, like module_new().
  Result<Value> function_new(gantry_object* parent, gantry_function function,
                             std::int32_t device_type = 0) const {
    return made("function_new", [&](gantry_value* out, gantry_status* status) {
      return table_->function_new(table_, parent, function, device_type, out, status);
    });
  }
  // Creates an opaque object from a pointer. The caller owns the pointer until this succeeds.
  Result<Value> object_new(const gantry_object_type& type, void* self) const {
    return made("object_new", [&](gantry_value* out, gantry_status* status) {
      return table_->object_new(table_, &type, self, out, status);
    });
  }
  // returns  INVALID  the object is not opaque, or of another type
  Result<void*> object_get(gantry_object* object, const gantry_object_type& type) const {
    StatusBuffer status;
    void* self = nullptr;
    GANTRY_CHECK(checked("object_get",
                         table_->object_get(table_, object, &type, &self, status.get()), status));
    return self;
  }
  // returns  INVALID  the object is not a module
  // lifetime texts in it are valid as long as the module
  Result<gantry_module_info> module_info(gantry_object* module) const {
    StatusBuffer status;
    gantry_module_info info{};
    info.struct_size = sizeof info;
    GANTRY_CHECK(
        checked("module_info", table_->module_info(table_, module, &info, status.get()), status));
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
    StatusBuffer status;
    const gantry_value* items = nullptr;
    std::uint64_t count = 0;
    GANTRY_CHECK(checked("items_get",
                         table_->items_get(table_, object, &items, &count, status.get()), status));
    return std::span(items, count);
  }

  // where    [in]   GANTRY_FIND_*
  Result<ObjectRef> find(gantry_object* module, std::uint32_t where, std::string_view name) const {
    StatusBuffer status;
    gantry_object* function = nullptr;
    GANTRY_CHECK(checked(
        "find", table_->find(table_, module, where, bytes_of(name), &function, status.get()),
        status));
    return ObjectRef::adopt(function);
  }
  Result<Value> call(gantry_object* function, const gantry_env* env,
                     std::span<const gantry_value> args) const {
    return made("call", [&](gantry_value* out, gantry_status* status) {
      return table_->call(table_, function, env, args.data(),
                          static_cast<std::int32_t>(args.size()), out, status);
    });
  }

  // Returns the device type of a name: "cuda".
  Result<std::int32_t> device_type(std::string_view name) const {
    StatusBuffer status;
    std::int32_t type = 0;
    GANTRY_CHECK(checked("device_type",
                         table_->device_type(table_, bytes_of(name), &type, status.get()), status));
    return type;
  }
  // Translates a device type in the module's artifact to that of the runtime.
  Result<std::int32_t> device_type_in(gantry_object* module, std::int32_t number) const {
    StatusBuffer status;
    std::int32_t type = 0;
    GANTRY_CHECK(checked("device_type_in",
                         table_->device_type_in(table_, module, number, &type, status.get()),
                         status));
    return type;
  }
  // Returns a device of any plugin. Valid as long as the host.
  Result<gantry_device> device(gantry_device_id id) const {
    StatusBuffer status;
    gantry_device out{};
    GANTRY_CHECK(checked("device_get", table_->device_get(table_, id, &out, status.get()), status));
    return out;
  }

 private:
  static Status checked(std::string_view name, gantry_code code, const StatusBuffer& status) {
    if (code == GANTRY_OK) return {};
    return status.error(code, concat("host function ", name));
  }
  template <class Make>
  Result<Value> made(std::string_view name, Make&& make) const {
    StatusBuffer status;
    gantry_value out{};
    GANTRY_CHECK(checked(name, make(&out, status.get()), status));
    return Value::adopt(out);
  }
  Result<Value> new_text(std::int32_t kind, std::string_view text) const {
    return made("text_new", [&](gantry_value* out, gantry_status* status) {
      return table_->text_new(table_, kind, bytes_of(text), out, status);
    });
  }
  Result<Value> new_items(std::int32_t kind, const std::vector<gantry_value>& items) const {
    return made("items_new", [&](gantry_value* out, gantry_status* status) {
      return table_->items_new(table_, kind, items.data(), items.size(), out, status);
    });
  }

  const gantry_host* table_;
};

}  // namespace gantry
