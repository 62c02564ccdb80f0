// SPDX-License-Identifier: Apache-2.0
#include "core/formats/vm_details.hpp"

#include "core/formats/annotation.hpp"
#include "core/formats/dtype_codes.hpp"
#include "core/formats/relax_code.hpp"
#include "core/formats/relay_code.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_constants.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace gantry {
namespace {

void add_extents(Detail& to, std::span<const std::int64_t> shape, DetailSink& sink) {
  for (const std::int64_t extent : shape) sink.add_number(to, {}, extent);
}

// Describes one constant in `out`.
struct ConstantDescription {
  DetailSink& sink;
  Detail& out;

  std::string type(gantry_dtype dtype) const {
    return dtype_text(dlpack_dtype(dtype, sink.has_private_float_codes));
  }
  void operator()(const ArrayRecord& array) const {
    Detail shape{Detail::Kind::list, "shape", {}, {}};
    add_extents(shape, array.shape, sink);
    out.children.push_back({Detail::Kind::text, "dtype", type(array.dtype), {}});
    out.children.push_back(std::move(shape));
    out.children.push_back({Detail::Kind::size, "size", concat(array.data.size()), {}});
  }
  void operator()(gantry_dtype dtype) const { set_text(&out, type(dtype)); }
  void operator()(const std::vector<std::int64_t>& shape) const {
    out.kind = Detail::Kind::list;
    add_extents(out, shape, sink);
  }
  void operator()(std::string_view text) const { set_text(&out, text); }
  void operator()(std::int64_t integer) const {
    out.kind = Detail::Kind::number;
    out.value = concat(integer);
  }
  // The bits, which are exact.
  void operator()(double number) const {
    out.kind = Detail::Kind::number;
    out.value = concat(std::bit_cast<std::uint64_t>(number));
  }
};

// Adds the list `constants`.
void add_constants(const VmConstants& constants, DetailSink& sink) {
  Detail list{Detail::Kind::list, "constants", {}, {}};
  for (const VmConstant& constant : constants.values) {
    Detail* const out = sink.add(list);
    if (out == nullptr) break;
    std::visit(ConstantDescription{sink, *out}, constant);
  }
  sink.root.children.push_back(std::move(list));
}

void add_texts(Detail& to, std::string_view name, const std::vector<std::string_view>& texts,
               DetailSink& sink) {
  Detail* const list = sink.add_list(to, name);
  if (list == nullptr) return;
  for (const std::string_view text : texts) {
    if (sink.cut) return;
    sink.add_text(*list, {}, text);
  }
}

// Adds the list `devices`.
void add_devices(const RelayCode& code, DetailSink& sink) {
  Detail* const list = sink.add_list(sink.root, "devices");
  if (list == nullptr) return;
  for (const RelayDevice& device : code.virtual_devices) {
    const std::string text = concat(device.type, ':', device.index);
    if (code.form->devices == RelayForm::Devices::plain) {
      sink.add_text(*list, {}, text);
    } else if (Detail* const out = sink.add(*list); out != nullptr) {
      sink.add_text(*out, "device", text);
      sink.add_text(*out, "scope", device.scope);
    }
    if (sink.cut) return;
  }
}

// Adds the list `functions`.
void add_functions(const RelayCode& code, DetailSink& sink) {
  Detail* const list = sink.add_list(sink.root, "functions");
  if (list == nullptr) return;
  for (const RelayFunction& function : code.functions) {
    Detail* const out = sink.add(*list);
    if (out == nullptr) return;
    sink.add_text(*out, "name", function.name);
    add_texts(*out, "params", function.params, sink);
    sink.add_number(*out, "registers", function.register_count);
    sink.add_number(*out, "instructions", function.instruction_count);
    take_name(*out);
  }
}

// The Relay virtual machine, v0.8 to v0.19. Describes malformed code up to its first wrong field.
Status describe_relay(const BytesAt& whole, DetailSink& sink, RelayCode& code) {
  Status read = read_relay_code(whole, code);
  // Neither a magic nor a version.
  if (code.version.data() == nullptr) return read;
  sink.add_text(sink.root, "version", code.version);
  if (code.form == nullptr) return read;
  if (code.form->devices != RelayForm::Devices::none) {
    add_devices(code, sink);
    if (code.globals_at == 0) return read;
    sink.add_number(sink.root, "host_device", code.host_device);
  }
  add_texts(sink.root, "globals", code.globals, sink);
  if (code.constants_at == 0) return read;
  add_constants(code.constants, sink);
  if (code.devices_end == 0) return read;
  add_texts(sink.root, "primitives", code.packed_functions, sink);
  if (code.functions_at == 0) return read;
  add_functions(code, sink);
  return read;
}

// Adds a record `annotations` of the parameters and a text `returns` to functions.
//
// costs    O(constants log functions)
void add_annotations(const VmConstants& constants, DetailSink& sink) {
  struct Target {
    Detail* function;
    // index in its children; 0: not added, because a function has other fields before
    std::size_t annotations = 0;
  };
  std::map<std::string, Target, std::less<>> functions;
  for (Detail& child : sink.root.children) {
    if (child.name != "functions") continue;
    for (Detail& function : child.children) functions.emplace(function.name, Target{&function});
  }
  for (const VmConstant& constant : constants.values) {
    const auto* const text = std::get_if<std::string_view>(&constant);
    if (text == nullptr) continue;
    const std::optional<StatedAnnotation> annotation = stated_annotation(*text);
    const auto found = annotation ? functions.find(annotation->function) : functions.end();
    if (found == functions.end()) continue;
    Target& target = found->second;
    const bool is_param = !annotation->param.empty();
    if (is_param && target.annotations == 0) {
      Detail* const list = sink.add(*target.function);
      if (list == nullptr) return;
      list->name = "annotations";
      target.annotations = target.function->children.size() - 1;
    }
    Detail* const made =
        sink.add(is_param ? target.function->children[target.annotations] : *target.function);
    if (made == nullptr) return;
    made->name = is_param ? annotation->param : "returns";
    made->kind = Detail::Kind::text;
    made->value = shown_annotation(annotation->type);
  }
}

// Adds the list `functions`.
void add_functions(const RelaxCode& code, DetailSink& sink) {
  Detail* const list = sink.add_list(sink.root, "functions");
  if (list == nullptr) return;
  for (const RelaxFunction& function : code.functions) {
    Detail* const out = sink.add(*list);
    if (out == nullptr) return;
    sink.add_number(*out, "kind", static_cast<int>(function.kind));
    sink.add_text(*out, "name", function.name);
    sink.add_number(*out, "start", function.begin);
    sink.add_number(*out, "end", function.end);
    sink.add_number(*out, "arguments", function.parameter_count);
    sink.add_number(*out, "registers", function.register_count);
    add_texts(*out, "params", function.parameter_names, sink);
    take_name(*out);
  }
}

// Adds the list `scopes`.
void add_scopes(const RelaxCode& code, DetailSink& sink) {
  Detail* const list = sink.add_list(sink.root, "scopes");
  if (list == nullptr) return;
  for (const RelaxMemoryScope& scope : code.scopes) {
    Detail* const out = sink.add(*list);
    if (out == nullptr) return;
    sink.add_number(*out, "constant", scope.constant);
    sink.add_text(*out, "scope", scope.scope);
  }
}

// The Relax virtual machine. Describes malformed code up to its first wrong field.
Status describe_relax(const BytesAt& whole, Numbering numbering, DetailSink& sink,
                      RelaxCode& code) {
  Status read = read_relax_code(whole, numbering, code);
  // Neither a magic nor a version.
  if (code.version.data() == nullptr) return read;
  sink.add_text(sink.root, "version", code.version);
  add_functions(code, sink);
  // The functions are not complete.
  if (code.functions_end == 0) return read;
  if (code.has_scopes) add_scopes(code, sink);
  add_constants(code.constants, sink);
  add_annotations(code.constants, sink);
  return read;
}

bool may_be_filler_detail(const Detail& constant) {
  const Detail* const dtype = constant.find("dtype");
  const Detail* const shape = constant.find("shape");
  return dtype != nullptr && shape != nullptr && dtype->value == "uint8" &&
         shape->children.size() == 1;
}

// Adds the list `fillers`: the indices of constants that only align others.
void add_fillers(const std::vector<bool>& is_filler, DetailSink& sink) {
  if (std::ranges::find(is_filler, true) == is_filler.end()) return;
  Detail fillers{Detail::Kind::list, "fillers", {}, {}};
  for (std::size_t i = 0; i < is_filler.size(); ++i) {
    if (is_filler[i]) sink.add_number(fillers, {}, i);
    if (sink.cut) break;
  }
  sink.root.children.push_back(std::move(fillers));
}

// True if fillers are to be searched.
bool may_have_fillers(const DetailSink& sink) {
  const Detail* const constants = sink.root.find("constants");
  return !sink.cut && constants != nullptr &&
         std::ranges::any_of(constants->children, may_be_filler_detail);
}

}  // namespace

Status describe_virtual_machine(std::string_view type_key, ByteReader code, Numbering numbering,
                                DetailSink& sink) {
  const BytesAt whole{code.rest(), code.offset()};
  if (type_key != relay_executable_key) {
    RelaxCode read;
    GANTRY_CHECK(describe_relax(whole, numbering, sink, read));
    if (!may_have_fillers(sink)) return {};
    const auto uses = find_constant_uses(read);
    if (uses.ok()) add_fillers(find_fillers(read.constants, uses->is_used), sink);
    return {};
  }
  RelayCode read;
  GANTRY_CHECK(describe_relay(whole, sink, read));
  if (may_have_fillers(sink))
    add_fillers(find_fillers(read.constants, read.is_constant_used), sink);
  return {};
}

}  // namespace gantry
