// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_input.hpp"

#include "tools/gantry/common/input_spec.hpp"
#include "tools/gantry/cpu_array.hpp"
#include "tools/gantry/input_elements.hpp"
#include "tools/gantry/input_type.hpp"
#include "tools/gantry/json_value.hpp"
#include "tools/gantry/option_checks.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/base/text_file.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/formats/annotation.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace gantry::cli {
namespace {

using Kind = InputType::Kind;
using Members = std::vector<std::pair<std::string, Tensor>>;

// of all inputs that are made, as of the arrays in an .npz file
constexpr std::uint64_t max_made_bytes = std::uint64_t{16} << 30;
// of a text file with numbers
constexpr std::size_t max_text_bytes = std::size_t{256} << 20;

// The member of a file for one input: the only one, or the one that `file` or the input's name
// selects.
Result<Tensor> select(Members members, const FileValue& file, const std::string& input) {
  const std::string& wanted = file.member.empty() ? input : file.member;
  if (members.size() == 1 && file.member.empty()) return std::move(members.front().second);
  for (auto& [name, tensor] : members) {
    if (name == wanted) return std::move(tensor);
  }
  const std::string names =
      join(members, ", ", [](const auto& member) { return quoted(member.first); });
  return not_found("input ", quoted(input), ": member ", quoted(wanted), " of ", quoted(file.path),
                   " not found; members: ", names.empty() ? "none" : names);
}

// What an option passes, for messages.
std::string_view passed_text(const InputValue& value) {
  if (const auto* argument = std::get_if<ArgSpec>(&value.content)) {
    constexpr std::string_view kinds[] = {"none",    "an integer",  "a number",
                                          "a text",  "a file",      "an array of zeros",
                                          "a shape", "a JSON value"};
    static_assert(std::size(kinds) == std::variant_size_v<ArgSpec>);
    return kinds[argument->index()];
  }
  if (const auto* fill = std::get_if<FillValue>(&value.content)) {
    constexpr std::string_view words[] = {"zeros", "ones", "random"};
    return words[static_cast<std::size_t>(fill->kind)];
  }
  constexpr std::string_view kinds[] = {"a file", "", "a list of numbers", "a file with numbers",
                                        "a tuple"};
  return kinds[value.content.index()];
}

std::string type_of(const InputType& type) {
  return type.text.empty() ? "of unknown type" : shown_annotation(type.text);
}

// How to set an input, for messages: `--input x=x.npy or --input x=random --shape n=1`.
std::string example_of(const std::string& name, const InputType& type) {
  const auto input = [&](std::string_view value) { return concat("--input ", name, "=", value); };
  switch (type.kind) {
    case Kind::tuple: {
      const std::size_t count = type.items ? type.items->size() : 2;
      std::vector<std::string_view> items(std::min<std::size_t>(count, 3), "zeros");
      if (count > items.size()) items.push_back("...");
      return concat("--input '", name, "=(", join(items, "; "), ")'");
    }
    case Kind::shape: {
      std::vector<std::string> extents;
      for (const std::int64_t extent : type.shape.value_or(std::vector<std::int64_t>{2, 16}))
        extents.push_back(concat(extent < 0 ? 1 : extent));
      return input(join(extents, ","));
    }
    case Kind::integer:
      return input("3");
    case Kind::number:
      return input("0.5");
    case Kind::truth:
      return input("true");
    case Kind::any:
    case Kind::tensor:
      break;
  }
  std::string text = concat(input(name + ".npy"), " or ", input("random"));
  if (!type.shape) {
    text += concat(" --shape ", name, "=float32[2,3]");
    constexpr std::string_view others =
        "; other values: int:3, float:0.5, str:text, shape:[2, 16], json:[1, \"a\"], none";
    return type.kind == Kind::any ? text + std::string(others) : text;
  }
  std::set<std::string_view> named;
  bool all_named = true;
  for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
    if ((*type.shape)[axis] >= 0) continue;
    if (type.extent(axis).empty() || !is_c_identifier(type.extent(axis))) all_named = false;
    named.insert(type.extent(axis));
  }
  if (!all_named) {
    std::vector<std::string> extents;
    for (const std::int64_t extent : *type.shape)
      extents.push_back(concat(extent < 0 ? 1 : extent));
    return text + concat(" --shape ", name, "=", join(extents, ","));
  }
  for (const std::string_view extent : named) text += concat(" --shape ", extent, "=1");
  return text;
}

// Calls visit(const InputType&) for a type and the items of its tuples.
template <class Visit>
void for_each_type(const InputType& type, Visit& visit) {
  visit(type);
  if (!type.items) return;
  for (const InputType& item : *type.items) for_each_type(item, visit);
}

// The free extents of a model that are known.
class Extents {
 public:
  struct Known {
    std::int64_t extent;
    // "--shape n=4", "input "x""
    std::string source;
  };

  const Known* find(std::string_view name) const {
    const auto found = known_.find(name);
    return found != known_.end() ? &found->second : nullptr;
  }

  // Adds the extents of a tensor or a shape.
  //
  // title    [in]   of the input
  // found    [in]   its type, for messages
  // returns  invalid: an extent is known and another one
  Status add(std::span<const std::int64_t> shape, const InputType& type, const std::string& title,
             std::string_view found) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::string name(type.extent(axis));
      if (name.empty()) continue;
      const Known& first = known_.try_emplace(name, Known{shape[axis], title}).first->second;
      if (first.extent == shape[axis]) continue;
      return invalid(title, " is ", found, ", expected ", type_of(type), " with ", name, " = ",
                     first.extent, " as in ", first.source);
    }
    return {};
  }
  void set(const std::string& name, Known known) {
    known_.insert_or_assign(name, std::move(known));
  }

 private:
  std::map<std::string, Known, std::less<>> known_;
};

// Reads the inputs of one model.
class InputReader {
 public:
  InputReader(const Runtime& runtime, const Session& model, bool each, const InputValues& values)
      : runtime_(runtime), model_(model), each_(each), values_(values) {
    for (const ParameterInfo& info : model.inputs())
      inputs_.push_back({.type = input_type(info), .name = info.name});
  }

  Result<std::vector<ModelInput>> read(const InputOptions& options, MissingInput missing) {
    for (const std::string& text : options.inputs) GANTRY_CHECK(add_input(text));
    for (const std::string& text : options.shapes) GANTRY_CHECK(add_shape(text));
    if (!word_ && missing == MissingInput::zeros) word_ = FillValue{};
    // Each step may make extents known that the next one needs.
    for (std::size_t i = 0; i < inputs_.size(); ++i) GANTRY_CHECK(read_file(i));
    for (std::size_t i = 0; i < inputs_.size(); ++i) GANTRY_CHECK(check_given(i));
    add_extents_of_values();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (has_numbers(inputs_[i])) GANTRY_CHECK(make(i));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) GANTRY_CHECK(make(i));
    std::vector<ModelInput> made;
    for (Input& input : inputs_) {
      if (input.made) made.push_back(std::move(*input.made));
    }
    if (each_) GANTRY_CHECK(check_rows(made));
    return made;
  }

 private:
  struct Input {
    InputType type;
    std::string name;
    std::optional<InputValue> value;
    // of --shape
    std::optional<ShapeSpec> shape;
    std::optional<ModelInput> made;
  };
  // An input, or an item of a tuple.
  struct Place {
    std::size_t input;
    // "input "x" of the model"
    std::string title;
    // of a tuple of tuples, in order; 0 of an input
    std::size_t& item;
    bool is_item = false;
  };

  std::string title_of(std::size_t index) const {
    return concat("input ", quoted(inputs_[index].name), " of ", model_.subject());
  }
  Failure with_example(Failure failure, std::size_t index) const {
    return std::move(failure).at("for example ",
                                 example_of(inputs_[index].name, inputs_[index].type));
  }
  bool has_value(std::size_t index) const { return !values_.empty() && !values_[index].is_none(); }
  static bool has_numbers(const Input& input) {
    return input.value && (std::holds_alternative<NumbersValue>(input.value->content) ||
                           std::holds_alternative<NumbersFile>(input.value->content));
  }

  Status add_input(const std::string& text) {
    GANTRY_TRY(InputSpec spec, parse_input(text));
    if (!spec.name.empty()) {
      GANTRY_TRY(const std::size_t index, model_.input(spec.name));
      return set_value(index, std::move(spec.value));
    }
    if (const auto* word = std::get_if<FillValue>(&spec.value.content)) {
      if (word_) return invalid("a word for all inputs is given twice");
      word_ = *word;
      return {};
    }
    return add_file(std::get<FileValue>(spec.value.content));
  }
  Status set_value(std::size_t index, InputValue value) {
    Input& input = inputs_[index];
    if (input.value || input.made) return invalid(title_of(index), " is given twice");
    input.value = std::move(value);
    return {};
  }
  // Sets the inputs that the members of a file name.
  Status add_file(const FileValue& file) {
    GANTRY_TRY(Members members, runtime_.read_tensors(file.path));
    if (members.size() == 1 && inputs_.size() == 1) members.front().first = inputs_[0].name;
    if (members.size() == 1 && members.front().first.empty()) {
      return invalid("the file ", quoted(file.path), " names no input, ", model_.subject(), " has ",
                     inputs_.size());
    }
    for (auto& [name, tensor] : members) {
      GANTRY_TRY(const std::size_t index, model_.input(name));
      GANTRY_CHECK(set_value(index, {file}));
      GANTRY_CHECK(set_array(index, std::move(tensor)));
    }
    return {};
  }

  std::vector<std::string_view> extent_names() const {
    std::set<std::string_view> names;
    auto add = [&](const InputType& type) {
      for (const std::string& extent : type.extents)
        if (!extent.empty()) names.insert(extent);
    };
    for (const Input& input : inputs_) for_each_type(input.type, add);
    return {names.begin(), names.end()};
  }

  Status add_shape(const std::string& text) {
    GANTRY_TRY(ShapeSpec shape, parse_shape(text));
    const std::vector<std::string_view> extents = extent_names();
    const bool is_extent = std::ranges::find(extents, shape.name) != extents.end();
    const auto input = model_.input(shape.name);
    const std::string title = concat("--shape ", text);
    if (is_extent && input.ok()) {
      return invalid(title, ": ", quoted(shape.name), " is both an input and an extent of ",
                     model_.subject(), "; the value or shape of an input with this extent sets it");
    }
    if (input.ok()) return set_shape(*input, std::move(shape), title);
    if (is_extent) return set_extent(shape, title);
    std::vector<std::string_view> names = extents;
    for (const Input& each : inputs_) names.push_back(each.name);
    return invalid(title, ": ", quoted(shape.name), " is neither an input nor an extent of ",
                   model_.subject(), did_you_mean(shape.name, names), "; extents: ",
                   extents.empty() ? "none"
                                   : join(
                                         extents, ", ", [](auto name) { return quoted(name); },
                                         max_listed_names));
  }
  Status set_extent(const ShapeSpec& shape, const std::string& title) {
    if (shape.dtype || shape.extents.size() != 1) {
      return invalid(title, ": ", quoted(shape.name), " is an extent of ", model_.subject(),
                     ", expected one number; for example --shape ", shape.name, "=4");
    }
    const Extents::Known* const known = extents_.find(shape.name);
    if (known != nullptr && known->extent != shape.extents[0]) {
      return invalid(title, ": extent ", quoted(shape.name), " is ", known->extent, " by ",
                     known->source);
    }
    extents_.set(shape.name, {shape.extents[0], title});
    return {};
  }
  Status set_shape(std::size_t index, ShapeSpec shape, const std::string& title) {
    Input& input = inputs_[index];
    const InputType& type = input.type;
    const auto refuse = [&](const auto&... why) {
      return with_example(invalid(title, ": ", title_of(index), " is ", type_of(type), why...),
                          index);
    };
    if (type.kind != Kind::tensor && type.kind != Kind::any)
      return refuse(", expected the shape of a tensor");
    if (input.shape) return invalid(title, ": the shape of ", title_of(index), " is given twice");
    if (type.dtype && shape.dtype && !same_dtype(*type.dtype, *shape.dtype))
      return refuse(", found ", dtype_text(*shape.dtype));
    if (!type.dtype && !shape.dtype)
      return refuse(", so that --shape must state the type of its elements, too");
    if (!shape.dtype) shape.dtype = type.dtype;
    const std::string found = type_text(*shape.dtype, shape.extents);
    if (type.dtype && !has_type(*shape.dtype, shape.extents, {*type.dtype, *type.shape}))
      return refuse(", found ", found);
    GANTRY_CHECK(extents_.add(shape.extents, type, title, found));
    input.shape = std::move(shape);
    return {};
  }

  // Returns the tensor with the type of its input, if the file has the type in which NumPy stores it.
  Result<Tensor> typed(Tensor tensor, const InputType& type) const {
    const bool is_stored = type.dtype && !same_dtype(tensor.dtype(), *type.dtype) &&
                           same_dtype(tensor.dtype(), numpy_dtype(*type.dtype));
    if (!is_stored) return tensor;
    GANTRY_TRY(Tensor made, runtime_.tensor(tensor.shape(), *type.dtype));
    std::memcpy(made.data(), tensor.data(), tensor.byte_size());
    return made;
  }
  // Compares a file's type with that of the input, if it is known; an extent of -1 matches any
  // extent.
  Status check_array(const Place& place, const InputType& type, const Tensor& tensor,
                     bool has_rows) const {
    const auto shape = tensor.shape();
    if (type.kind != Kind::tensor && type.kind != Kind::any) {
      return with_example(invalid(place.title, " is ", type_of(type), ", files contain tensors"),
                          place.input);
    }
    if (!type.dtype) {
      if (!has_rows || !shape.empty()) return {};
      return invalid(place.title, " is ", type_text(tensor.dtype(), shape),
                     ", expected an additional first axis for --each");
    }
    const TensorType wanted{*type.dtype, *type.shape};
    const bool has_first_axis = !has_rows || !shape.empty();
    if (has_first_axis && has_type(tensor.dtype(), shape.subspan(has_rows ? 1 : 0), wanted))
      return {};
    Failure failure(wrong_type(
        place.title, tensor.dtype(), shape, wanted.dtype,
        has_rows ? concat(type.text, " with an additional first axis for --each") : type.text));
    const bool is_for_each =
        !has_rows && !shape.empty() && has_type(tensor.dtype(), shape.subspan(1), wanted);
    if (!is_for_each) return with_example(std::move(failure), place.input);
    return std::move(failure).at("--each runs once for each element of the first axis");
  }
  Status set_array(std::size_t index, Tensor tensor) {
    std::size_t item = 0;
    const Place place{index, title_of(index), item};
    Input& input = inputs_[index];
    GANTRY_TRY(tensor, typed(std::move(tensor), input.type));
    GANTRY_CHECK(check_array(place, input.type, tensor, each_));
    const auto shape = tensor.shape().subspan(each_ ? 1 : 0);
    const std::string found = type_text(tensor.dtype(), shape);
    if (input.shape && !std::ranges::equal(shape, input.shape->extents)) {
      return invalid(place.title, " is ", found, " in the file, expected ",
                     type_text(tensor.dtype(), input.shape->extents), " of --shape");
    }
    GANTRY_CHECK(extents_.add(shape, input.type, place.title, found));
    input.made = {index, input.name, std::move(tensor), {}, each_};
    return {};
  }
  Status read_file(std::size_t index) {
    const Input& input = inputs_[index];
    const auto* file = input.value ? std::get_if<FileValue>(&input.value->content) : nullptr;
    if (file == nullptr || input.made) return {};
    GANTRY_TRY(Members members, runtime_.read_tensors(file->path));
    GANTRY_TRY(Tensor tensor, select(std::move(members), *file, input.name));
    return set_array(index, std::move(tensor));
  }

  Status check_given(std::size_t index) const {
    const Input& input = inputs_[index];
    if (input.value || word_ || has_value(index)) return {};
    return with_example(invalid(title_of(index), " is missing, expected ",
                                input.type.text.empty() ? "a value" : type_of(input.type)),
                        index);
  }
  // Those of weights. A run refuses extents that contradict each other.
  void add_extents_of_values() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto tensor = values_[i].tensor();
      if (tensor.ok() && !inputs_[i].value)
        (void)extents_.add(tensor->shape(), inputs_[i].type, title_of(i), "");
    }
  }

  // Makes the value of an input that has none yet.
  Status make(std::size_t index) {
    Input& input = inputs_[index];
    if (input.made || (!input.value && has_value(index))) return {};
    std::size_t item = 0;
    const Place place{index, title_of(index), item};
    const InputValue value = input.value ? *input.value : InputValue{*word_};
    GANTRY_TRY(Any made, value_of(value, input.type, place));
    ModelInput& out = input.made.emplace();
    out = {index, input.name, {}, {}, false};
    if (made.value().kind == GANTRY_TENSOR) {
      GANTRY_TRY(out.tensor, made.tensor());
    } else {
      out.value = std::move(made);
    }
    return {};
  }

  Failure wrong_kind(const InputValue& value, const InputType& type, const Place& place) const {
    return with_example(invalid(place.title, " is ", type_of(type), ", found ", passed_text(value)),
                        place.input);
  }

  // Tensors of inputs are on the CPU, those in tuples on the model's device.
  Result<Any> value_of(const InputValue& value, const InputType& type, const Place& place) {
    if (std::holds_alternative<TupleValue>(value.content) || type.kind == Kind::tuple)
      return tuple_of(value, type, place);
    if (const auto* file = std::get_if<FileValue>(&value.content)) {
      // Those of inputs are read before.
      GANTRY_TRY(Members members, runtime_.read_tensors(file->path));
      GANTRY_TRY(Tensor tensor, select(std::move(members), *file, inputs_[place.input].name));
      GANTRY_TRY(tensor, typed(std::move(tensor), type));
      GANTRY_CHECK(check_array(place, type, tensor, false));
      GANTRY_CHECK(extents_.add(tensor.shape(), type, place.title,
                                type_text(tensor.dtype(), tensor.shape())));
      return placed(std::move(tensor), place);
    }
    if (const auto* fill = std::get_if<FillValue>(&value.content))
      return filled(*fill, value, type, place);
    if (const auto* numbers = std::get_if<NumbersValue>(&value.content))
      return value_of_numbers(numbers->text, value, type, place);
    if (const auto* file = std::get_if<NumbersFile>(&value.content)) {
      auto text = read_text_file(file->path, max_text_bytes);
      if (!text.ok()) return std::move(text).failure().at("in ", place.title);
      auto made = value_of_numbers(*text, value, type, place);
      if (!made.ok()) return std::move(made).failure().at("in ", quoted(file->path));
      return made;
    }
    return value_of_argument(std::get<ArgSpec>(value.content), value, type, place);
  }

  Result<Any> placed(Tensor tensor, const Place& place) const {
    if (!place.is_item) return Any(tensor);
    GANTRY_TRY(Value copy, runtime_.host().tensor_copied(*tensor.dlpack(),
                                                         model_.function().device(), nullptr));
    return Any(std::move(copy));
  }

  Result<Any> tuple_of(const InputValue& value, const InputType& type, const Place& place) {
    const auto* tuple = std::get_if<TupleValue>(&value.content);
    const bool is_word = std::holds_alternative<FillValue>(value.content);
    if (type.kind != Kind::tuple && type.kind != Kind::any) return wrong_kind(value, type, place);
    if (tuple == nullptr && !(is_word && type.items)) {
      if (!is_word) return wrong_kind(value, type, place);
      return with_example(
          invalid(place.title, " is ", type_of(type), ", the types of its items are not stated"),
          place.input);
    }
    if (tuple != nullptr && type.items && tuple->items.size() != type.items->size()) {
      return with_example(invalid(place.title, " is ", type_of(type), ", expected ",
                                  type.items->size(), " items, found ", tuple->items.size()),
                          place.input);
    }
    const std::size_t count = tuple != nullptr ? tuple->items.size() : type.items->size();
    const InputType unknown;
    std::vector<Any> items;
    for (std::size_t i = 0; i < count; ++i) {
      const Place item{place.input, concat("item ", i, " of ", place.title), place.item, true};
      GANTRY_TRY(items.emplace_back(), value_of(tuple != nullptr ? tuple->items[i] : value,
                                                type.items ? (*type.items)[i] : unknown, item));
      ++place.item;
    }
    return runtime_.array(items);
  }

  Result<Any> filled(const FillValue& fill, const InputValue& value, const InputType& type,
                     const Place& place) {
    RandomNumbers random(fill.seed, place.input, place.item);
    const bool is_one = fill.kind == FillValue::Kind::ones;
    const bool is_random = fill.kind == FillValue::Kind::random;
    switch (type.kind) {
      case Kind::shape: {
        GANTRY_TRY(const auto extents, extents_of(type, place, std::nullopt));
        return runtime_.shape(extents);
      }
      case Kind::integer:
      case Kind::truth: {
        std::int64_t number = is_one ? 1 : 0;
        if (is_random) {
          GANTRY_TRY(number, random_integer(fill, random, place.title));
        }
        return scalar(static_cast<Number>(number), type);
      }
      case Kind::number:
        return scalar(
            is_random ? Number{random_number(fill, random)} : Number{is_one ? 1.0L : 0.0L}, type);
      default:
        break;
    }
    GANTRY_TRY(Tensor tensor, new_tensor(type, value, place, std::nullopt));
    GANTRY_CHECK(fill_elements(tensor, fill, random, place.title));
    return placed(std::move(tensor), place);
  }

  // returns  none if the type has no such number
  static Any scalar(Number number, const InputType& type) {
    if (type.kind == Kind::number)
      return Any(Value::adopt(float_value(static_cast<double>(number))));
    const bool is_truth = type.kind == Kind::truth;
    const Number low = is_truth ? 0 : static_cast<Number>(INT64_MIN);
    const Number high = is_truth ? 1 : static_cast<Number>(INT64_MAX);
    if (!(number >= low && number <= high)) return {};
    const auto integer = static_cast<std::int64_t>(number);
    if (static_cast<Number>(integer) != number) return {};
    return Any(Value::adopt(is_truth ? bool_value(integer != 0) : int_value(integer)));
  }

  Result<Any> value_of_numbers(std::string_view list, const InputValue& value,
                               const InputType& type, const Place& place) {
    const std::uint64_t count = count_numbers(list);
    switch (type.kind) {
      case Kind::shape:
        return shape_of_numbers(list, type, place);
      case Kind::integer:
      case Kind::number:
      case Kind::truth: {
        Any made;
        GANTRY_CHECK(for_each_number(list, [&](std::size_t, std::string_view text) -> Status {
          if (const auto number = number_in(text)) made = scalar(*number, type);
          return {};
        }));
        if (count == 1 && !made.is_none()) return made;
        return with_example(invalid(place.title, " is ", type_of(type), ", found ",
                                    count == 1 ? quoted(list) : concat(count, " numbers")),
                            place.input);
      }
      default:
        break;
    }
    GANTRY_TRY(Tensor tensor, new_tensor(type, value, place, count));
    GANTRY_CHECK(write_numbers(tensor, list, place.title));
    return placed(std::move(tensor), place);
  }
  Result<Any> shape_of_numbers(std::string_view list, const InputType& type, const Place& place) {
    std::vector<std::int64_t> extents;
    GANTRY_CHECK(for_each_number(list, [&](std::size_t index, std::string_view text) -> Status {
      const auto extent = parse_number<std::int64_t>(text);
      if (!extent || *extent < 0) {
        return invalid(place.title, " is ", type_of(type), ": extent ", index, " is ", quoted(text),
                       ", expected an integer >= 0");
      }
      extents.push_back(*extent);
      return {};
    }));
    return shape_of(extents, type, place);
  }
  Result<Any> shape_of(const std::vector<std::int64_t>& extents, const InputType& type,
                       const Place& place) {
    const std::string found = numbers_text(extents);
    if (type.shape && !has_type({}, extents, {{}, *type.shape})) {
      return with_example(invalid(place.title, " is ", found, ", expected ", type_of(type)),
                          place.input);
    }
    GANTRY_CHECK(extents_.add(extents, type, place.title, found));
    return runtime_.shape(extents);
  }

  Result<Any> value_of_argument(const ArgSpec& argument, const InputValue& value,
                                const InputType& type, const Place& place) {
    const auto* integer = std::get_if<std::int64_t>(&argument);
    const auto* number = std::get_if<double>(&argument);
    const auto* shape = std::get_if<ShapeArg>(&argument);
    const auto* text = std::get_if<std::string>(&argument);
    const auto* json = std::get_if<JsonArg>(&argument);
    if (shape != nullptr && (type.kind == Kind::shape || type.kind == Kind::any))
      return shape_of(shape->extents, type, place);
    const bool takes_number = type.kind == Kind::number;
    if ((integer != nullptr &&
         (takes_number || type.kind == Kind::integer || type.kind == Kind::truth)) ||
        (number != nullptr && takes_number)) {
      Any made = scalar(integer != nullptr ? static_cast<Number>(*integer) : Number{*number}, type);
      if (!made.is_none()) return made;
    }
    if (type.kind != Kind::any) return wrong_kind(value, type, place);
    if (integer != nullptr) return Any(Value::adopt(int_value(*integer)));
    if (number != nullptr) return Any(Value::adopt(float_value(*number)));
    if (text != nullptr) return runtime_.text(*text);
    if (json != nullptr) return value_of_json(runtime_, *json);
    return Any();
  }

  // The extents of a tensor or a shape that is made.
  //
  // numbers  [in]   how many elements there are, if that is known
  Result<std::vector<std::int64_t>> extents_of(const InputType& type, const Place& place,
                                               std::optional<std::uint64_t> numbers) {
    const std::optional<ShapeSpec>& stated = inputs_[place.input].shape;
    if (stated && !place.is_item) return stated->extents;
    if (!type.shape) {
      return with_example(
          invalid(place.title, " is ", type_of(type), ", its extents are not known"), place.input);
    }
    std::vector<std::int64_t> extents = *type.shape;
    std::vector<std::size_t> free;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      if (extents[axis] >= 0) continue;
      const Extents::Known* const known = extents_.find(type.extent(axis));
      if (known == nullptr) {
        free.push_back(axis);
        extents[axis] = 1;
      } else {
        extents[axis] = known->extent;
      }
    }
    if (free.size() == 1 && numbers) {
      GANTRY_CHECK(check_size(extents, dtypes::uint8, place));
      std::uint64_t others = 1;
      for (const std::int64_t extent : extents) others *= static_cast<std::uint64_t>(extent);
      if (others != 0 && *numbers % others == 0) {
        extents[free[0]] = static_cast<std::int64_t>(*numbers / others);
        GANTRY_CHECK(extents_.add(extents, type, place.title, concat(*numbers, " numbers")));
        return extents;
      }
      return with_example(invalid(place.title, " is ", type_of(type), ", expected a multiple of ",
                                  others, " numbers, found ", *numbers),
                          place.input);
    }
    if (free.empty()) return extents;
    const std::string_view name = type.extent(free[0]);
    return with_example(
        invalid(place.title, " is ", type_of(type), ", extent ", free[0],
                name.empty() ? std::string() : concat(" (", name, ")"), " is not known"),
        place.input);
  }

  // Compares the size of an input with what is left of the limit.
  Status check_size(std::span<const std::int64_t> shape, gantry_dtype dtype,
                    const Place& place) const {
    const auto bytes = tensor_bytes(shape, dtype);
    if (bytes.ok() && *bytes <= max_made_bytes - made_bytes_) return {};
    return invalid(place.title, " is ", type_text(dtype, shape),
                   ", the limit of all inputs that are ", "made is ", human_size(max_made_bytes),
                   "; files may be larger");
  }

  // Creates a tensor on the CPU, with undefined elements.
  Result<Tensor> new_tensor(const InputType& type, const InputValue& value, const Place& place,
                            std::optional<std::uint64_t> numbers) {
    const std::optional<ShapeSpec>& stated = inputs_[place.input].shape;
    const bool is_stated = stated && !place.is_item;
    if (!is_stated && !type.dtype) {
      return with_example(
          invalid(place.title, " is ", type_of(type), ", found ", passed_text(value),
                  "; --shape must state its shape and the type of its elements"),
          place.input);
    }
    GANTRY_TRY(const auto extents, extents_of(type, place, numbers));
    const gantry_dtype dtype = is_stated ? *stated->dtype : *type.dtype;
    GANTRY_CHECK(check_size(extents, dtype, place));
    std::uint64_t count = 1;
    for (const std::int64_t extent : extents) count *= static_cast<std::uint64_t>(extent);
    if (numbers && *numbers != count) {
      return with_example(invalid(place.title, " is ", type_text(dtype, extents), ", expected ",
                                  count, count == 1 ? " number" : " numbers", ", found ", *numbers),
                          place.input);
    }
    made_bytes_ += *tensor_bytes(extents, dtype);
    return runtime_.tensor(extents, dtype);
  }

  Status check_rows(std::span<const ModelInput> made) const {
    const ModelInput* first = nullptr;
    for (const ModelInput& input : made) {
      if (!input.has_rows) continue;
      if (first == nullptr) first = &input;
      if (input.tensor.shape()[0] == first->tensor.shape()[0]) continue;
      return invalid("input ", quoted(input.name), " has a first axis of ", input.tensor.shape()[0],
                     ", input ", quoted(first->name), " of ", first->tensor.shape()[0]);
    }
    if (first == nullptr) {
      return invalid(model_.subject(),
                     inputs_.empty() ? " has no input" : " has no input from a file",
                     ", --each requires one");
    }
    if (first->tensor.shape()[0] != 0) return {};
    return invalid("input ", quoted(first->name), " has a first axis of 0, minimum is 1");
  }

  const Runtime& runtime_;
  const Session& model_;
  const bool each_;
  const InputValues& values_;
  std::vector<Input> inputs_;
  // of all inputs that nothing else sets
  std::optional<FillValue> word_;
  Extents extents_;
  std::uint64_t made_bytes_ = 0;
};

}  // namespace

Result<std::vector<std::string>> InputOptions::files() const {
  std::vector<std::string> all;
  for (const std::string& text : inputs) {
    GANTRY_TRY(const InputSpec spec, parse_input(text));
    for (std::string& file : spec.files()) all.push_back(std::move(file));
  }
  return all;
}

InputOptionsOf add_inputs(CLI::App& app, InputOptions& options, std::string_view missing) {
  CLI::Option* const input = add_repeatable(
      app, "--input", "[NAME=]VALUE", options.inputs,
      concat(
          "an input: NAME=FILE.npy, NAME=FILE.npz:MEMBER, NAME=zeros, NAME=ones, "
          "NAME=random:SEED:LOW:HIGH (the last three optional), NAME=1,2,3, NAME=@FILE (numbers as "
          "text); for virtual machines also NAME=(VALUE; VALUE), a tuple, and the forms of --arg; "
          "FILE.npz sets all inputs that it names, a word all others",
          missing.empty() ? "" : "; default: ", missing, "; may be repeated"),
      accepted_by(parse_input));
  CLI::Option* const shape = add_repeatable(
      app, "--shape", "NAME=EXTENTS", options.shapes,
      "shape of an input that is made, x=4,3,224,224, or an extent that the model leaves free, "
      "n=4; x=float32[4,3] where the model states no type; may be repeated",
      accepted_by(parse_shape));
  return {input, shape};
}

Result<std::vector<ModelInput>> read_inputs(const Runtime& runtime, const Session& model,
                                            const InputOptions& options, bool each,
                                            MissingInput missing, const InputValues& values) {
  auto inputs = InputReader(runtime, model, each, values).read(options, missing);
  if (!inputs.ok() && inputs.error().code == Code::invalid) {
    return std::move(inputs).error().at("inputs of ", model.subject(), ": ",
                                        inputs_text(model.inputs()));
  }
  return inputs;
}

Status set_values(Session& model, const InputValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_none()) GANTRY_CHECK(model.bind(i, values[i]));
  }
  return {};
}

Status set_inputs(Session& model, std::span<const ModelInput> inputs,
                  std::optional<std::int64_t> row) {
  for (const ModelInput& input : inputs) {
    if (!input.tensor) {
      GANTRY_CHECK(model.bind(input.index, input.value));
      continue;
    }
    Tensor tensor = input.tensor;
    if (row && input.has_rows) {
      GANTRY_TRY(tensor, input.tensor.row(*row));
    }
    GANTRY_CHECK(model.set_input(input.index, tensor));
  }
  return {};
}

}  // namespace gantry::cli
