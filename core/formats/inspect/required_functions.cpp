// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/required_functions.hpp"

#include "core/formats/elf/elf_sections.hpp"
#include "core/formats/type_key.hpp"

#include <algorithm>
#include <set>

namespace gantry {
namespace {

constexpr std::string_view cell_prefix = ".tvm_func.";

using Names = std::set<std::string, std::less<>>;

// Functions of a module, by the names that it states.
void add_own(const Detail& module, Names& own) {
  if (const Detail* const kernels = module.find("kernels")) {
    for (const Detail& kernel : kernels->children) own.insert(kernel.name);
  }
  if (const Detail* const symbol = module.find("symbol")) own.insert(symbol->value);
}

// Names of other functions that the code of a virtual machine calls.
void add_calls(const Detail& machine, Names& names) {
  // Relax lists them among its own functions.
  if (const Detail* const functions = machine.find("functions")) {
    for (const Detail& function : functions->children) {
      const Detail* const kind = function.find("kind");
      if (kind != nullptr && kind->value == "0") names.insert(function.name);
    }
  }
  if (const Detail* const packed = machine.find("primitives")) {
    for (const Detail& function : packed->children) names.insert(function.value);
  }
}

}  // namespace

std::vector<std::string_view> functions_of_cells(const ElfFile& elf) {
  std::vector<std::string_view> names;
  const auto add = [&](const std::vector<ElfSymbol>& symbols) {
    for (const ElfSymbol& symbol : symbols) {
      if (symbol.name.starts_with(cell_prefix) && symbol.name.size() > cell_prefix.size())
        names.push_back(symbol.name.substr(cell_prefix.size()));
    }
  };
  if (elf.type() == ElfType::relocatable) {
    add(elf.symbols());
  } else {
    const auto& sections = elf.image().sections();
    for (std::size_t i = 0; i < sections.size(); ++i) {
      if (sections[i].type != section_type::symbols) continue;
      // A table that is damaged is not required to load the file.
      const auto symbols = section_symbols(elf.image(), i);
      if (symbols.ok()) add(*symbols);
      break;
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<RequiredFunction> required_functions(const InspectReport& report,
                                                 const ServedBy& offered_by) {
  Names names(report.looked_up.begin(), report.looked_up.end());
  Names own(report.functions.begin(), report.functions.end());
  // The details of all modules together may be larger than the file.
  for (std::size_t i = 0; i < report.container.entries.size(); ++i) {
    // Warnings of the payload's details are reported with the module.
    WarningList ignored;
    const Detail details = details_of(report, i, ignored);
    add_own(details, own);
    if (is_virtual_machine(report.container.entries[i].type_key)) add_calls(details, names);
  }
  std::vector<RequiredFunction> required;
  for (const std::string& name : names) {
    required.push_back(
        {name, own.contains(name) ? "artifact" : offered_by(name).value_or(std::string())});
  }
  std::ranges::stable_partition(required, &std::string::empty, &RequiredFunction::served_by);
  return required;
}

bool has_unknown_look_ups(const InspectReport& report) {
  return !report.functions.empty() && report.looked_up.empty();
}

}  // namespace gantry
