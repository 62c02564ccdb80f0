// SPDX-License-Identifier: Apache-2.0
#include "core/pack/json_tree.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace gantry {

// Takes the parser's events. A container's items are numbered when it ends: until then they wait on a stack.
class JsonTreeReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonTreeReader(JsonTree& tree) : tree_(tree) {}

  bool null() override { return add(JsonKind::null, 0); }
  bool boolean(bool value) override { return add(JsonKind::boolean, value ? 1 : 0); }
  bool number_integer(std::int64_t value) override {
    return add(JsonKind::negative, static_cast<std::uint64_t>(value));
  }
  bool number_unsigned(std::uint64_t value) override { return add(JsonKind::count, value); }
  bool number_float(double, const std::string&) override { return add(JsonKind::fraction, 0); }
  bool string(std::string& value) override { return add(JsonKind::text, keep(value)); }
  // JSON has none
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(JsonKind::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(JsonKind::array); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    key_ = keep(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  std::size_t keep(std::string& text) {
    tree_.texts_.push_back(std::move(text));
    return tree_.texts_.size() - 1;
  }
  bool add(JsonKind kind, std::uint64_t bits) {
    waiting_.push_back(tree_.values_.size());
    tree_.values_.push_back({kind, std::exchange(key_, JsonTree::no_text), bits, 0});
    return true;
  }
  bool open(JsonKind kind) {
    add(kind, 0);
    begins_.push_back(waiting_.size());
    return true;
  }
  bool close() {
    const auto first = waiting_.begin() + static_cast<std::ptrdiff_t>(begins_.back());
    begins_.pop_back();
    JsonTree::Value& container = tree_.values_[*(first - 1)];
    container.bits = tree_.items_.size();
    container.size = static_cast<std::size_t>(waiting_.end() - first);
    tree_.items_.insert(tree_.items_.end(), first, waiting_.end());
    waiting_.erase(first, waiting_.end());
    return true;
  }

  JsonTree& tree_;
  // of the next value
  std::size_t key_ = JsonTree::no_text;
  std::vector<std::size_t> waiting_;
  // of each open container, in waiting_
  std::vector<std::size_t> begins_;
};

std::string_view name_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "boolean";
    case JsonKind::negative:
    case JsonKind::count:
    case JsonKind::fraction:
      return "number";
    case JsonKind::text:
      return "string";
    case JsonKind::array:
      return "array";
    case JsonKind::object:
      return "object";
  }
  return "unknown";
}

std::optional<JsonTree> JsonTree::parse(std::string_view text) {
  std::optional<JsonTree> tree{JsonTree()};
  JsonTreeReader reader(*tree);
  if (!nlohmann::json::sax_parse(text, &reader)) return std::nullopt;
  return tree;
}

JsonKind JsonValue::kind() const { return tree_->values_[at_].kind; }

std::size_t JsonValue::size() const { return tree_->values_[at_].size; }

JsonValue JsonValue::operator[](std::size_t index) const {
  return {tree_, tree_->items_[tree_->values_[at_].bits + index]};
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!is(JsonKind::object)) return std::nullopt;
  for (std::size_t i = size(); i-- > 0;) {
    const JsonValue item = (*this)[i];
    if (tree_->texts_[tree_->values_[item.at_].key] == key) return item;
  }
  return std::nullopt;
}

const std::string& JsonValue::text() const { return tree_->texts_[bits()]; }

std::uint64_t JsonValue::bits() const { return tree_->values_[at_].bits; }

}  // namespace gantry
