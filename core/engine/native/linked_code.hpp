// SPDX-License-Identifier: Apache-2.0
//
// The CPU code of a system library: code that is linked into the program or one of its libraries,
// and whose constructors have registered its symbols.
#pragma once

#include "core/engine/native/cpu_code.hpp"
#include "core/formats/container_location.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct LinkedSymbol {
  std::string_view name;
  void* address;
  // of the function that has registered the symbol
  Dialect dialect;
};

// Finds the container among registered symbols.
//
// prefix   [in]   of the system library: containers and context slots of others are not seen
ContainerLocation linked_location(const std::vector<LinkedSymbol>& symbols,
                                  std::string_view prefix);

class LinkedCode final : public CpuCode {
 public:
  // symbols  [in]   names are borrowed, as long as the program; of two with one name the later counts
  // facts    [in]   of linked_location()
  // name     [in]   for messages
  LinkedCode(const std::vector<LinkedSymbol>& symbols, const ExporterFacts& facts,
             std::string name);

  std::string name() const override { return name_; }
  void* function(std::string_view symbol) const override;
  void** pointer_variable(std::string_view name) const override;
  std::vector<std::string> function_names() const override;
  // Only sources register an entry, and there it is the function itself.
  Result<std::string_view> entry_name() const override;
  bool outlives_module() const override { return true; }

 private:
  std::string name_;
  std::map<std::string_view, void*> symbols_;
};

}  // namespace gantry
