// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <gantry/quoted.hpp>

#include <span>
#include <string_view>

namespace gantry::vulkan {
namespace {

Status read_flag(Host host, std::string_view key, bool& flag) {
  const auto value = host.option(key);
  if (!value) return {};
  const auto number = value_int(*value);
  if (!number) return invalid("option ", key, " is not a bool").with_reason("CONFIG");
  flag = *number != 0;
  return {};
}

// names    [in]   names of the choices, in the order of the enum
template <class Choice>
Status read_choice(Host host, std::string_view key, std::span<const std::string_view> names,
                   Choice& choice) {
  const auto value = host.option(key);
  if (!value) return {};
  const auto text = value_text(*value);
  if (!text) return invalid("option ", key, " is not text").with_reason("CONFIG");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (*text != names[i]) continue;
    choice = static_cast<Choice>(i);
    return {};
  }
  return invalid("option ", key, " is ", quoted(*text), ", expected ", names[0], ", ", names[1],
                 " or ", names[2])
      .with_reason("CONFIG");
}

}  // namespace

Result<Options> read_options(Host host) {
  static constexpr std::string_view memory[] = {"auto", "mapped", "staged"};
  static constexpr std::string_view descriptors[] = {"auto", "push", "sets"};
  Options options;
  GANTRY_CHECK(read_flag(host, "validation", options.validation));
  GANTRY_CHECK(read_flag(host, "software_devices", options.software_devices));
  GANTRY_CHECK(read_flag(host, "pipeline_cache", options.pipeline_cache));
  GANTRY_CHECK(read_choice(host, "memory", memory, options.memory));
  GANTRY_CHECK(read_choice(host, "descriptors", descriptors, options.descriptors));
  return options;
}

}  // namespace gantry::vulkan
