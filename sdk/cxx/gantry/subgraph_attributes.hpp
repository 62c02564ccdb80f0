// SPDX-License-Identifier: Apache-2.0
//
// gantry/subgraph_attributes.hpp - the attributes of an operator of a sub-graph as numbers and
// texts. Errors name the operator and the attribute.
//
//     const SubgraphAttributes attributes(node);
//     GANTRY_TRY(const auto strides, attributes.integers("strides"));     // {2, 2}
//     GANTRY_TRY(const float epsilon, attributes.real("epsilon", 1e-5f));  // 1e-5 if it is absent
//
// Compilers write every value as a list of decimal texts, true as "1".
#pragma once

#include <gantry/quoted.hpp>
#include <gantry/result.hpp>
#include <gantry/subgraph.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class SubgraphAttributes {
 public:
  // node     [in]   borrowed
  explicit SubgraphAttributes(const SubgraphNode& node) : node_(node) {}

  bool has(std::string_view name) const { return node_.find(name) != nullptr; }

  // Each returns the value of an attribute, `absent` if the operator has no such attribute.
  //
  // returns  MALFORMED    the value is of another form (SUBGRAPH); the attribute is absent and has
  //                       no default
  Result<std::int64_t> integer(std::string_view name,
                               std::optional<std::int64_t> absent = {}) const {
    return one<std::int64_t>(name, absent, "a whole number");
  }
  Result<float> real(std::string_view name, std::optional<float> absent = {}) const {
    return one<float>(name, absent, "a number");
  }
  Result<bool> truth(std::string_view name, std::optional<bool> absent = {}) const {
    std::optional<std::int64_t> number;
    if (absent) number = *absent;
    GANTRY_TRY(const std::int64_t value, one<std::int64_t>(name, number, "0 or 1"));
    if (value == 0 || value == 1) return value == 1;
    return refuse(name, " is ", value, ", expected 0 or 1");
  }
  // lifetime that of the node, or of `absent`
  Result<std::string_view> text(std::string_view name,
                                std::optional<std::string_view> absent = {}) const {
    const std::vector<std::string>* const values = node_.find(name);
    if (values == nullptr && absent) return *absent;
    GANTRY_CHECK(count_is(name, 1));
    return std::string_view(values->front());
  }
  // An attribute without a value is [""]: an empty list.
  Result<std::vector<std::int64_t>> integers(std::string_view name) const {
    const std::vector<std::string>* const values = node_.find(name);
    if (values == nullptr) return refuse(name, " is absent");
    std::vector<std::int64_t> numbers;
    if (values->size() == 1 && values->front().empty()) return numbers;
    for (const std::string& value : *values) {
      GANTRY_TRY(const std::int64_t number, parse<std::int64_t>(name, value, "a whole number"));
      numbers.push_back(number);
    }
    return numbers;
  }
  // returns  also MALFORMED if there are other than `count` numbers
  Result<std::vector<std::int64_t>> integers(std::string_view name, std::size_t count) const {
    GANTRY_TRY(auto numbers, integers(name));
    if (numbers.size() == count) return numbers;
    return refuse(name, " has ", numbers.size(), " numbers, expected ", count);
  }

  // Names the operator and an attribute: nn.conv2d: attribute "groups" is 3, ...
  //
  // returns  MALFORMED  reason SUBGRAPH
  template <class... Parts>
  Failure refuse(std::string_view name, const Parts&... parts) const {
    return malformed(node_.at, "operator ", quoted(node_.name), ": attribute ", quoted(name),
                     parts...)
        .with_reason("SUBGRAPH");
  }
  // returns  UNSUPPORTED  reason SUBGRAPH_OPERATOR
  template <class... Parts>
  Failure refuse_support(std::string_view name, const Parts&... parts) const {
    return unsupported("operator ", quoted(node_.name), ": attribute ", quoted(name), parts...)
        .with_reason("SUBGRAPH_OPERATOR");
  }

 private:
  Status count_is(std::string_view name, std::size_t count) const {
    const std::vector<std::string>* const values = node_.find(name);
    if (values == nullptr) return refuse(name, " is absent");
    if (values->size() == count) return {};
    return refuse(name, " has ", values->size(), " values, expected ", count);
  }

  template <class Number>
  Result<Number> one(std::string_view name, std::optional<Number> absent,
                     std::string_view expected) const {
    if (absent && node_.find(name) == nullptr) return *absent;
    GANTRY_CHECK(count_is(name, 1));
    return parse<Number>(name, node_.find(name)->front(), expected);
  }

  template <class Number>
  Result<Number> parse(std::string_view name, std::string_view text,
                       std::string_view expected) const {
    Number number{};
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong == std::errc() && end == text.data() + text.size()) return number;
    return refuse(name, " is ", quoted(text), ", expected ", expected);
  }

  const SubgraphNode& node_;
};

}  // namespace gantry
