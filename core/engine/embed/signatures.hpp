// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A gantry_signature with everything that it refers to.
class Signature {
 public:
  // outputs  [in]   nullopt: not stated
  Signature(const FunctionState& function, std::optional<std::vector<ParameterInfo>> outputs);
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;

  const gantry_signature& table() const { return table_; }
  // See input_index().
  Result<std::size_t> input(std::string_view name) const {
    return input_index(subject_, inputs_, name);
  }

 private:
  void add(std::span<const ParameterInfo> infos, std::vector<gantry_parameter>& parameters,
           std::vector<const gantry_parameter*>& addresses);

  const std::string name_, subject_;
  // the texts and shapes of the tables
  const std::vector<ParameterInfo> inputs_;
  const std::optional<std::vector<ParameterInfo>> outputs_;
  std::vector<gantry_parameter> input_parameters_, output_parameters_;
  std::vector<const gantry_parameter*> input_addresses_, output_addresses_;
  gantry_signature table_{};
};

// The signatures of a model's functions that were read so far.
//
// thread   any
class Signatures {
 public:
  // Returns NULL if the signature of the function was not read yet.
  //
  // lifetime as long as this object
  const Signature* find(std::string_view function) const;
  // Reads and keeps the signature of a function, unless it was kept before.
  Result<const Signature*> add(std::string_view name, const FunctionState& function);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const Signature>, std::less<>> all_;
};

}  // namespace gantry
