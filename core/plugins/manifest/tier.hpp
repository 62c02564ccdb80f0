// SPDX-License-Identifier: Apache-2.0
//
// The tiers of the search for plugins, the one of the highest precedence first: who placed a manifest
// there. One table has all that depends on a tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gantry {

// Messages contain the number, beginning with 1.
enum class Tier : std::uint8_t {
  program = 1,
  config,
  environment,
  admin,
  boot,
  core,
  user,
  system
};

struct TierTraits {
  Tier tier;
  // its key in `policies` of the trust file
  std::string_view name;
  // directories of every host, highest precedence first
  std::span<const std::string_view> directories = {};
  // a process with more privileges than its caller uses it
  bool is_for_privileged = true;
  // GANTRY_PLUGIN_FILES replaces it
  bool is_replaceable = true;
};

namespace tier_directories {
constexpr std::string_view admin[] = {"/etc/gantry/plugins.d"};
// until the next boot; containers
constexpr std::string_view boot[] = {"/run/gantry/plugins.d"};
// of packages
constexpr std::string_view system[] = {"/usr/local/share/gantry/plugins.d",
                                       "/usr/share/gantry/plugins.d"};
}  // namespace tier_directories

// By number. `core` is <directory of the core>/../share/gantry/plugins.d, unless that is a directory of
// another tier; `user` is $XDG_DATA_HOME/gantry/plugins.d.
constexpr TierTraits tiers[] = {
    {.tier = Tier::program, .name = "program", .is_replaceable = false},
    {.tier = Tier::config, .name = "config", .is_replaceable = false},
    {.tier = Tier::environment,
     .name = "environment",
     .is_for_privileged = false,
     .is_replaceable = false},
    {.tier = Tier::admin, .name = "admin", .directories = tier_directories::admin},
    {.tier = Tier::boot, .name = "boot", .directories = tier_directories::boot},
    {.tier = Tier::core, .name = "core", .is_for_privileged = false},
    {.tier = Tier::user, .name = "user", .is_for_privileged = false},
    {.tier = Tier::system, .name = "system", .directories = tier_directories::system},
};
constexpr std::size_t tier_count = std::size(tiers);

constexpr int number_of(Tier tier) { return static_cast<int>(tier); }
constexpr std::size_t index_of(Tier tier) { return static_cast<std::size_t>(tier) - 1; }
constexpr const TierTraits& traits_of(Tier tier) { return tiers[index_of(tier)]; }
constexpr std::string_view name_of(Tier tier) { return traits_of(tier).name; }

}  // namespace gantry
