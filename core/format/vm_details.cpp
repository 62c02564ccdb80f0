// SPDX-License-Identifier: Apache-2.0
#include "core/format/vm_details.hpp"

#include "core/format/relax_code.hpp"
#include "core/format/relay_code.hpp"
#include "core/format/vm_constants.hpp"

#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry {
namespace {

using Numbering = ExporterFacts::Numbering;

// A layout of fields in the grammar of payload_layout.hpp.
PayloadLayout layout_of_words(std::initializer_list<std::string> words) {
  const std::vector<std::string> fields(words);
  Result<PayloadLayout> layout = parse_payload_layout(fields);
  assert(layout.ok() && "a layout in this file does not parse");
  return std::move(layout).value();
}

Status walk_words(ByteReader& in, std::initializer_list<std::string> words, DetailSink& sink) {
  return walk_payload(in, layout_of_words(words), false, &sink);
}

// Reads a u64 count, then tag and content of each constant; adds the list `constants`.
//
// texts    [out]  the constants that are texts, views into the payload; may be NULL
Status walk_constants(ByteReader& in, std::span<const VmConstantKind> kinds, DetailSink& sink,
                      std::vector<std::string_view>* texts = nullptr) {
  // The shortest content is a dtype.
  GANTRY_TRY(const std::uint64_t count, in.read_count(4 + 4, "constants"));
  Detail constants{Detail::Kind::list, "constants", {}, {}};
  // One for each kind. They are parsed once, since parsing a layout costs more than walking a
  // constant of 12 bytes.
  std::vector<PayloadLayout> layouts;
  for (const VmConstantKind& kind : kinds) {
    layouts.push_back(layout_of_words({std::string(kind.words)}));
  }
  const auto add_all = [&]() -> Status {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const std::uint32_t tag, in.read_u32("constant tag"));
      std::size_t kind = 0;
      while (kind < kinds.size() && kinds[kind].tag != tag) ++kind;
      if (kind == kinds.size()) return malformed(at, "constant ", i, " has the unknown tag ", tag);
      if (texts != nullptr && kinds[kind].words == vm_text_words) {
        ByteReader text = in;
        GANTRY_TRY(texts->emplace_back(), text.read_string("constant"));
      }
      DetailSink one = {{}, sink.max, sink.items, false, sink.has_private_float_codes};
      GANTRY_CHECK(walk_payload(in, layouts[kind], false, &one));
      sink.items = one.items;
      sink.cut |= one.cut;
      if (!one.root.children.empty()) {
        constants.children.push_back(std::move(one.root.children[0]));
        constants.children.back().name.clear();
      }
    }
    return {};
  };
  Status walked = add_all();
  sink.root.children.push_back(std::move(constants));
  return walked;
}

// Reads a u64 count, then for each function vec<str>{name, register count, instruction count},
// parameters, their devices, and code.
Status walk_relay_functions(ByteReader& in, DetailSink& sink) {
  GANTRY_TRY(const std::uint64_t count, in.read_count(3 * 8, "functions"));
  Detail functions{Detail::Kind::list, "functions", {}, {}};
  const PayloadLayout layout = layout_of_words({"header:vec<str>", "params:vec<str>", "vec<i64>"});
  const auto add_all = [&]() -> Status {
    for (std::uint64_t i = 0; i < count; ++i) {
      DetailSink one = {{}, sink.max, sink.items, false, sink.has_private_float_codes};
      const std::uint64_t at = in.offset();
      GANTRY_CHECK(walk_payload(in, layout, false, &one));
      sink.items = one.items;
      sink.cut |= one.cut;
      // further functions would not be added
      if (sink.cut) return {};
      std::vector<Detail>& header = one.root.children[0].children;
      std::uint64_t instructions = 0;
      if (header.size() >= 3) {
        const std::string& text = header[2].value;
        std::from_chars(text.data(), text.data() + text.size(), instructions);
      }
      if (header.size() < 3 || instructions > in.left() / 8) {
        return malformed(at, "function ", i, " has no valid instruction count");
      }
      for (std::uint64_t step = 0; step < instructions; ++step) {
        GANTRY_TRY(const std::uint64_t words, in.read_count(8, "instruction"));
        GANTRY_CHECK(in.skip(words * 8, "instruction"));
      }
      Detail function{Detail::Kind::record, header[0].value, {}, {}};
      function.children.push_back(std::move(one.root.children[1]));
      function.children.push_back({Detail::Kind::number, "registers", header[1].value, {}});
      function.children.push_back({Detail::Kind::number, "instructions", concat(instructions), {}});
      functions.children.push_back(std::move(function));
    }
    return {};
  };
  Status walked = add_all();
  sink.root.children.push_back(std::move(functions));
  return walked;
}

// The Relay virtual machine, v0.8 to v0.19. Its code contains the release.
//
// whole    the code, whose form decides; that of the release for code that cannot be read
Status describe_relay(const BytesAt& whole, ByteReader& in, DetailSink& sink) {
  GANTRY_CHECK(walk_words(in, {"version:str"}, sink));
  const Detail* const version = sink.root.find("version");
  const int minor = version != nullptr ? relay_minor_version(version->value) : 0;
  if (minor < min_relay_minor_version || minor > max_relay_minor_version) {
    return unsupported("virtual machine code is of TVM ",
                       quoted(version != nullptr ? version->value : std::string_view()),
                       ", expected TVM 0.8 to 0.19");
  }
  const auto read = read_relay_code(whole);
  const RelayForm& form = read.ok() ? *read->form : relay_form_of(minor);
  if (form.devices == RelayForm::Devices::scoped) {
    GANTRY_CHECK(walk_words(in, {"devices:vec<{device:dev,scope:str}>", "host_device:i32"}, sink));
  } else if (form.devices == RelayForm::Devices::plain) {
    GANTRY_CHECK(walk_words(in, {"devices:vec<dev>", "host_device:i32"}, sink));
  }
  GANTRY_CHECK(walk_words(in, {"globals:vec<str>"}, sink));
  if (form.has_tags) {
    GANTRY_CHECK(walk_constants(in, relay_constant_kinds(), sink));
  } else {
    GANTRY_CHECK(walk_words(in, {"constants:vec<ndarray>"}, sink));
  }
  GANTRY_CHECK(walk_words(in, {"vec<i64>", "primitives:vec<str>"}, sink));
  if (form.has_attributes) GANTRY_CHECK(walk_words(in, {"map<u64,map<str,str>>"}, sink));
  return walk_relay_functions(in, sink);
}

// The type of a parameter or a result, from a constant that checks of the code refer to:
//
//     ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((1, 64), dtype="float32"))
//     ErrorContext(fn=main, loc=return, annotation=R.Tensor((1, 10), dtype="float32"))
struct Annotation {
  std::string_view function;
  // empty: the result
  std::string_view param;
  std::string_view type;
};

// Removes `prefix` and the text up to `end` from the front of a text. Returns what is between them.
std::optional<std::string_view> take_field(std::string_view& from, std::string_view prefix,
                                           std::string_view end) {
  if (!from.starts_with(prefix)) return std::nullopt;
  const std::size_t at = from.find(end, prefix.size());
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view field = from.substr(prefix.size(), at - prefix.size());
  from.remove_prefix(at + end.size());
  return field;
}

std::optional<Annotation> annotation_in(std::string_view text) {
  const auto function = take_field(text, "ErrorContext(fn=", ", loc=");
  const auto place = function ? take_field(text, "", ", ") : std::nullopt;
  if (!place) return std::nullopt;
  std::string_view param;
  if (*place != "return") {
    const auto named = take_field(text, "param=", ", ");
    if (!named) return std::nullopt;
    param = *named;
  }
  constexpr std::string_view prefix = "annotation=";
  const std::size_t end = text.rfind(')');
  if (!text.starts_with(prefix) || end == std::string_view::npos) return std::nullopt;
  return Annotation{*function, param, text.substr(prefix.size(), end - prefix.size())};
}

// Annotations of parameters that are tuples of all weights are long.
constexpr std::size_t max_annotation_characters = 240;

// Adds a record `annotations` of the parameters and a text `returns` to functions.
//
// costs    O(texts log functions)
void add_annotations(std::span<const std::string_view> texts, DetailSink& sink) {
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
  for (const std::string_view text : texts) {
    const std::optional<Annotation> annotation = annotation_in(text);
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
    const std::string_view shown = first_characters(annotation->type, max_annotation_characters);
    made->value = concat(shown, shown.size() == annotation->type.size() ? "" : "...");
  }
}

Status describe_relax_as(Numbering numbering, ByteReader& in, bool scopes, DetailSink& sink) {
  GANTRY_CHECK(walk_words(in,
                          {"version:str",
                           "functions:vec<{kind:i32,name:str,start:i64,end:i64,arguments:i64,"
                           "registers:i64,params:vec<str>}>"},
                          sink));
  if (scopes) {
    GANTRY_CHECK(walk_words(in, {"scopes:vec<{constant:i64,scope:str}>"}, sink));
  }
  std::vector<std::string_view> texts;
  const Status walked = walk_constants(in, relax_constant_kinds(numbering), sink, &texts);
  add_annotations(texts, sink);
  GANTRY_CHECK(walked);
  return walk_words(in, {"vec<i64>", "vec<i64>"}, sink);
}

Status describe_relax(Numbering numbering, ByteReader& in, bool scopes, DetailSink& sink) {
  if (numbering != Numbering::unknown) return describe_relax_as(numbering, in, scopes, sink);
  for (const Numbering trial : {Numbering::packed, Numbering::ffi_0_21, Numbering::ffi}) {
    ByteReader end = in;
    DetailSink found = sink;
    if (!describe_relax_as(trial, end, scopes, found).ok() || !end.at_end()) continue;
    in = end;
    sink = std::move(found);
    return {};
  }
  return describe_relax_as(Numbering::packed, in, scopes, sink);
}

bool may_be_filler_detail(const Detail& constant) {
  const Detail* const dtype = constant.find("dtype");
  const Detail* const shape = constant.find("shape");
  return dtype != nullptr && shape != nullptr && dtype->value == "uint8" &&
         shape->children.size() == 1;
}

// Adds the list `fillers`: the indices of constants that only align others.
//
// costs    that of reading the code again, if a constant may be a filler
void add_fillers(std::string_view type_key, const ByteReader& code, Numbering numbering,
                 DetailSink& sink) {
  const Detail* const constants = sink.root.find("constants");
  if (sink.cut || constants == nullptr ||
      std::ranges::none_of(constants->children, may_be_filler_detail)) {
    return;
  }
  const BytesAt bytes{code.rest(), code.offset()};
  std::vector<bool> is_filler;
  if (type_key == relay_executable_key) {
    const auto read = read_relay_code(bytes);
    if (read.ok()) is_filler = find_fillers(read->constants, read->whole);
  } else {
    const auto read = read_relax_code(bytes, numbering);
    if (read.ok()) is_filler = find_fillers(read->constants, read->whole);
  }
  if (std::ranges::find(is_filler, true) == is_filler.end()) return;
  Detail fillers{Detail::Kind::list, "fillers", {}, {}};
  for (std::size_t i = 0; i < is_filler.size(); ++i) {
    if (!is_filler[i]) continue;
    Detail* const index = sink.add(fillers);
    if (index == nullptr) break;
    *index = {Detail::Kind::number, {}, concat(i), {}};
  }
  sink.root.children.push_back(std::move(fillers));
}

}  // namespace

bool is_virtual_machine(std::string_view type_key) {
  return type_key == relay_executable_key || type_key == "relax.Executable" ||
         type_key == "relax.VMExecutable";
}

Status describe_virtual_machine(std::string_view type_key, ByteReader code,
                                ExporterFacts::Numbering numbering, DetailSink& sink) {
  const std::uint64_t at = code.offset();
  const ByteReader whole = code;
  GANTRY_TRY(const std::uint64_t magic, code.read_u64("virtual machine magic"));
  if (magic != vm_magic_first && magic != vm_magic_second) {
    return malformed(at, "virtual machine code begins with ", Hex{magic}, ", expected ",
                     Hex{vm_magic_first});
  }
  if (type_key == relay_executable_key) {
    GANTRY_CHECK(describe_relay({whole.rest(), whole.offset()}, code, sink));
  } else {
    GANTRY_CHECK(describe_relax(numbering, code, magic == vm_magic_second, sink));
  }
  if (!code.at_end() && !sink.cut) {
    return malformed(code.offset(), "virtual machine code has ", code.left(),
                     " bytes after its last field");
  }
  add_fillers(type_key, whole, numbering, sink);
  return {};
}

}  // namespace gantry
