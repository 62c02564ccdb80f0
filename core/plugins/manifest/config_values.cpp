// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/config_values.hpp"

#include "core/base/near_name.hpp"
#include "core/base/reason.hpp"
#include "core/base/text.hpp"

#include <gantry/disk_cache.hpp>
#include <gantry/join.hpp>

#include <map>
#include <set>

namespace gantry {
namespace {

// A value to expand, and its errors. An error must not contain any part of a secret value, even if
// the part is in the place of a name.
struct Text {
  std::string_view whole;
  bool secret = false;

  // part     [in]   part of the value, for the error text
  // unnamed  [in]   replaces `part` if the value is secret
  template <class... Rest>
  Failure refuse(std::string_view problem, std::string_view part, std::string_view unnamed,
                 const Rest&... rest) const {
    return invalid(secret ? "the secret value" : concat("\"", whole, "\""), " ", problem,
                   secret ? unnamed : part, rest...)
        .with_reason(reason::config_value.tag);
  }
  Failure refuse(std::string_view problem) const { return refuse(problem, "", ""); }
};

Result<std::string> expand_name(std::string_view name, const Text& text,
                                const std::set<std::string_view>& allowed,
                                const ConfigLocations& locations) {
  if (name == "manifest_dir") return locations.manifest_dir;
  if (name == "library_dir") return locations.library_dir;
  if (name == "state_dir") return locations.state_dir;
  if (!name.starts_with("env:")) {
    return text.refuse("contains ", concat("${", name, "}"), "an unknown name in ${}",
                       ", known names are env:NAME, manifest_dir, library_dir and state_dir");
  }
  const std::string_view rest = name.substr(4);
  const std::size_t dash = rest.find(":-");
  const std::string variable(rest.substr(0, dash));
  if (!allowed.contains(variable)) {
    return text.refuse("requires ", concat("the environment variable ", variable),
                       "an environment variable", ", which is not listed in env_allow");
  }
  const std::optional<std::string> value =
      locations.environment ? locations.environment(variable) : std::nullopt;
  if (value) return *value;
  if (dash != std::string_view::npos) return std::string(rest.substr(dash + 2));
  return text.refuse(concat("requires the environment variable ", variable, ", which is not set"));
}

// allowed  [in]   environment variables that the value may name
Result<std::string> expand(const Text& value, const std::set<std::string_view>& allowed,
                           const ConfigLocations& locations) {
  const std::string_view text = value.whole;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t dollar = text.find('$', at);
    out += text.substr(at, dollar - at);
    if (dollar == std::string_view::npos) break;
    if (text.substr(dollar, 2) == "$$") {
      out += '$';
      at = dollar + 2;
      continue;
    }
    if (text.substr(dollar, 2) != "${")
      return value.refuse("contains a single $, write $$ for a dollar sign");
    const std::size_t end = text.find('}', dollar);
    if (end == std::string_view::npos) return value.refuse("contains ${ without }");
    const std::string_view name = text.substr(dollar + 2, end - dollar - 2);
    if (name.find('$') != std::string_view::npos) return value.refuse("contains ${ inside ${");
    GANTRY_TRY(const std::string expanded, expand_name(name, value, allowed, locations));
    out += expanded;
    at = end + 1;
  }
  return out;
}

Failure unknown_key(const Manifest& manifest, const ConfigText& text, std::string_view source) {
  std::vector<std::string_view> names;
  for (const ConfigOption& option : manifest.config_schema) names.push_back(option.name);
  std::string near = did_you_mean(text.key, names);
  if (near.empty()) near = concat("; options: ", names.empty() ? "none" : join(names));
  return invalid(source, ": option ", quoted(text.key), " of plugin ", manifest.id, " not found",
                 near)
      .with_reason(reason::config_key.tag);
}

class Resolver {
 public:
  Resolver(const Manifest& manifest, const ConfigLocations& locations,
           std::vector<Message>& warnings)
      : manifest_(manifest), locations_(locations), warnings_(warnings) {
    for (const ConfigOption& option : manifest.config_schema) {
      options_.emplace(option.name, &option);
    }
  }

  void add_defaults() {
    for (const ConfigOption& option : manifest_.config_schema) {
      if (option.fallback) set(option.name, *option.fallback, "default", &option);
    }
  }

  Status add(const ConfigLayer& layer, bool may_bring_keys) {
    for (const ConfigText& text : layer.values) {
      const ConfigOption* option = find_option(text.key);
      if (!option && !manifest_.config_schema.empty())
        return unknown_key(manifest_, text, layer.source);
      if (!option && !may_bring_keys && !index_.contains(text.key)) {
        warnings_.push_back(Message(layer.source, ": plugin ", manifest_.id,
                                    " declares no option \"", text.key, "\""));
      }
      Result<ConfigScalar> value =
          option ? to_scalar(*option, text) : Result<ConfigScalar>(guess_scalar(text));
      if (!value.ok()) return location(std::move(value).error(), layer.source, text.key);
      set(text.key, std::move(*value), layer.source, option);
    }
    return {};
  }

  // Expands the resolved values only: an overridden value may name a variable that is not set.
  // Choices are not expanded.
  Result<std::vector<ConfigValue>> expand_all() {
    const std::set<std::string_view> allowed(manifest_.env_allow.begin(),
                                             manifest_.env_allow.end());
    for (ConfigValue& value : values_) {
      const ConfigOption* option = find_option(value.key);
      auto* text = std::get_if<std::string>(&value.value);
      if (!text || (option && option->type == OptionType::choice)) continue;
      Result<std::string> expanded = expand({*text, value.secret}, allowed, locations_);
      if (!expanded.ok()) return location(std::move(expanded).error(), value.source, value.key);
      *text = std::move(*expanded);
    }
    return std::move(values_);
  }

 private:
  Error location(Error error, std::string_view source, std::string_view key) const {
    error.message =
        Message(source, ": option \"", key, "\" of plugin ", manifest_.id, ": ", error.message);
    return error;
  }
  const ConfigOption* find_option(std::string_view key) const {
    const auto found = options_.find(key);
    return found == options_.end() ? nullptr : found->second;
  }
  void set(const std::string& key, ConfigScalar value, const std::string& source,
           const ConfigOption* option) {
    const std::size_t at = index_.try_emplace(key, values_.size()).first->second;
    if (at == values_.size()) values_.emplace_back();
    values_[at] = {key, std::move(value), source, option && option->secret,
                   option ? option->doc : ""};
  }

  const Manifest& manifest_;
  const ConfigLocations& locations_;
  std::vector<Message>& warnings_;
  std::map<std::string_view, const ConfigOption*> options_;
  std::vector<ConfigValue> values_;
  // by key, into values_
  std::map<std::string, std::size_t> index_;
};

}  // namespace

Result<std::vector<ConfigValue>> resolve_config(const Manifest& manifest,
                                                std::span<const ConfigLayer> layers,
                                                const ConfigLocations& locations,
                                                std::vector<Message>& warnings) {
  Resolver resolver(manifest, locations, warnings);
  resolver.add_defaults();
  for (const ConfigLayer& layer : manifest.config) GANTRY_CHECK(resolver.add(layer, true));
  for (const ConfigLayer& layer : layers) GANTRY_CHECK(resolver.add(layer, false));
  return resolver.expand_all();
}

std::uint64_t digest_of(std::span<const ConfigValue> values) {
  std::string all;
  for (const ConfigValue& value : values) {
    const std::string text =
        std::visit([](const auto& scalar) { return concat(scalar); }, value.value);
    all += DiskCache::key({value.key, concat(value.value.index()), text});
  }
  return DiskCache::digest(all);
}

std::string config_variable(std::string_view plugin_id, std::string_view key) {
  std::string name = upper(concat("GANTRY_CONFIG_", plugin_id, "__", key));
  for (char& c : name) c = c == '.' || c == '-' ? '_' : c;
  return name;
}

std::string display_text(const ConfigValue& value) {
  if (value.secret) return "***";
  return std::visit([](const auto& scalar) { return concat(scalar); }, value.value);
}

}  // namespace gantry
