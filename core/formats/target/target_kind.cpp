// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/target_kind.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace gantry {
namespace {

// From the start of a name; `more` are the characters that may follow the first one.
bool is_name(std::string_view name, bool upper, std::string_view more) {
  const auto is_letter = [&](char c) {
    return (c >= 'a' && c <= 'z') || (upper && c >= 'A' && c <= 'Z');
  };
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || more.find(c) != more.npos;
  });
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    items.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

}  // namespace

std::string_view name_of(TargetType type) {
  constexpr std::string_view names[] = {"bool", "int", "string", "list"};
  return names[static_cast<std::size_t>(type)];
}

const TargetOption* TargetKind::find(std::string_view option) const {
  const auto own = std::ranges::find(options, option, &TargetOption::name);
  if (own != options.end()) return &*own;
  const auto common = common_target_options();
  const auto shared = std::ranges::find(common, option, &TargetOption::name);
  return shared == common.end() ? nullptr : &*shared;
}

std::span<const TargetOption> common_target_options() {
  static const TargetOption options[] = {
      {"device", TargetType::text, {}, "name of a device family; added to the keys"},
      {"from_device", TargetType::integer, {}, "number of a device from which options are read"},
      {"libs", TargetType::list, {}, "libraries that generated code may call"},
      {"model", TargetType::text, {}, "model of the device, for tuning records"},
      {"target_device_type", TargetType::integer, {}, "device type, instead of the kind's"},
  };
  return options;
}

std::vector<TargetKind> host_target_kinds() {
  const auto flag = [](std::string name, std::string doc) {
    return TargetOption{std::move(name), TargetType::boolean, {}, std::move(doc)};
  };
  const auto text = [](std::string name, std::string doc) {
    return TargetOption{std::move(name), TargetType::text, {}, std::move(doc)};
  };
  const auto number = [](std::string name, std::string doc) {
    return TargetOption{std::move(name), TargetType::integer, {}, std::move(doc)};
  };
  const auto list = [](std::string name, std::string doc) {
    return TargetOption{std::move(name), TargetType::list, {}, std::move(doc)};
  };
  TargetKind llvm{.name = "llvm", .keys = {"cpu"}};
  llvm.options = {
      list("mattr", "features of the CPU: +avx2,-fma"),
      text("mcpu", "name of the CPU in LLVM"),
      text("mtriple", "triple of the host: x86_64-linux-gnu"),
      text("mfloat-abi", "floating-point ABI: hard, soft"),
      text("mabi", "ABI of calls: lp64d"),
      number("num-cores", "number of cores"),
      number("vector-width", "width of vectors in bits"),
      flag("fast-math", "all of the following relaxations"),
      flag("fast-math-nnan", "no NaN occurs"),
      flag("fast-math-ninf", "no infinity occurs"),
      flag("fast-math-nsz", "the sign of zero is not significant"),
      flag("fast-math-arcp", "a reciprocal may replace a division"),
      flag("fast-math-contract", "operations may be fused"),
      flag("fast-math-reassoc", "operations may be reordered"),
      number("opt-level", "optimization level, 0 to 3"),
      list("cl-opt", "options of LLVM's command line"),
      text("jit", "LLVM's compiler at run time: mcjit, orcjit"),
      flag("system-lib", "code is linked into the program itself"),
      text("runtime", "runtime that the code requires: c++, c"),
      flag("link-params", "parameters are compiled into the code"),
      flag("unpacked-api", "functions have typed arguments"),
      text("interface-api", "interface of the entry function: packed, c"),
  };
  TargetKind c{.name = "c", .keys = {"cpu"}};
  c.options = {
      list("mattr", "features of the CPU"),
      text("mcpu", "name of the CPU"),
      text("march", "architecture of the CPU"),
      number("workspace-byte-alignment", "alignment of workspaces in bytes"),
      number("constants-byte-alignment", "alignment of constants in bytes"),
      flag("system-lib", "code is linked into the program itself"),
      text("runtime", "runtime that the code requires: c++, c"),
      text("executor", "executor that calls the code: graph, aot"),
      flag("link-params", "parameters are compiled into the code"),
      flag("unpacked-api", "functions have typed arguments"),
      text("interface-api", "interface of the entry function: packed, c"),
  };
  return {std::move(c), std::move(llvm)};
}

Result<TargetValue> target_value(TargetType type, std::string_view text) {
  switch (type) {
    case TargetType::boolean:
      if (text == "1" || text == "true") return TargetValue(true);
      if (text == "0" || text == "false") return TargetValue(false);
      break;
    case TargetType::integer: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size()) return TargetValue(number);
      break;
    }
    case TargetType::text:
      return TargetValue(std::string(text));
    case TargetType::list:
      return TargetValue(split_at_commas(text));
  }
  return invalid("expected ", name_of(type), ", found ", quoted(text));
}

bool is_target_kind_name(std::string_view name) { return is_name(name, false, "_-"); }
bool is_target_option_name(std::string_view name) { return is_name(name, true, "_.-"); }

}  // namespace gantry
