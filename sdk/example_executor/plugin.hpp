// SPDX-License-Identifier: Apache-2.0
//
// The plugin in one runtime.
#pragma once

#include "ensemble.hpp"

#include <gantry/plugin.hpp>

namespace ensemble {

class Plugin {
 public:
  using Loaders = gantry::Types<Ensemble>;
  // Of the process: compiled code finds them by name.
  static auto functions() {
    return std::array{gantry::method<&Plugin::mean, "example.ensemble.mean(a, b, out)">};
  }

  explicit Plugin(gantry::Host given) : host(given) {}

  gantry::Host host;

 private:
  // out = (a + b) / 2, float32 vectors of one length in host memory
  gantry::Status mean(const gantry::Call& call) const;
};

}  // namespace ensemble
