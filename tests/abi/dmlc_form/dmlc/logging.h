// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace dmlc {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace dmlc
