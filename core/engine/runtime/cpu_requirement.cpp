// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/cpu_requirement.hpp"

#include "core/base/text.hpp"
#include "core/formats/elf/elf_sections.hpp"
#include "core/formats/target/target.hpp"

#include <gantry/concat.hpp>
#include <gantry/join.hpp>

#include <algorithm>
#include <set>

namespace gantry {
namespace {

constexpr std::uint64_t max_section_bytes = std::uint64_t{1} << 20;
// Of all sections: any number of them may have the same bytes.
constexpr std::uint64_t max_text_bytes = std::uint64_t{64} << 20;

// Instruction sets of one text, which options remove, too.
class Required {
 public:
  void add_cpu(std::string_view name) {
    for (const std::string_view feature : features_of_cpu(name)) features_.insert(feature);
  }
  // feature  [in]   a literal
  void add(std::string_view feature) { features_.insert(feature); }
  void remove(std::string_view feature) { features_.erase(feature); }
  // "+avx2", "-fma"
  void add_attribute(std::string_view text) {
    if (text.empty()) return;
    const std::string_view feature = known_feature(text.substr(1));
    if (feature.empty()) return;
    if (text.front() == '+') add(feature);
    if (text.front() == '-') remove(feature);
  }
  std::vector<std::string_view> missing(const HasFeature& has) const {
    std::vector<std::string_view> missing;
    for (const std::string_view feature : features_) {
      if (!has(feature)) missing.push_back(feature);
    }
    return missing;
  }

 private:
  std::set<std::string_view> features_;
};

std::optional<CpuRequirement> unmet(const Required& required, const HasFeature& has,
                                    std::string text) {
  auto missing = required.missing(has);
  if (missing.empty()) return std::nullopt;
  return CpuRequirement{std::move(text), std::move(missing)};
}

}  // namespace

std::optional<CpuRequirement> unmet_in_target(std::string_view text, const HasFeature& has) {
  const bool is_target = text.starts_with("llvm ") || text.starts_with("c ") ||
                         (text.starts_with('{') && text.find("\"mcpu\"") != text.npos) ||
                         (text.starts_with('{') && text.find("\"mattr\"") != text.npos);
  if (!is_target || text.size() > max_target_bytes) return std::nullopt;
  const auto target = parse_target(text, TargetKinds());
  if (!target.ok() || target->device_type != 1) return std::nullopt;
  Required required;
  const std::string cpu = target->text("mcpu");
  required.add_cpu(cpu);
  std::string shown = cpu.empty() ? "" : concat("-mcpu=", cpu);
  const auto found = target->values.find("mattr");
  if (found != target->values.end()) {
    const auto* const attributes = std::get_if<std::vector<std::string>>(&found->second);
    if (attributes != nullptr) {
      for (const std::string& attribute : *attributes) required.add_attribute(attribute);
      shown += concat(shown.empty() ? "" : " ", "-mattr=", join(*attributes, ","));
    }
  }
  return unmet(required, has, std::move(shown));
}

std::optional<CpuRequirement> unmet_in_options(std::string_view text, const HasFeature& has) {
  Required required;
  std::string shown;
  for (const std::string& each : words_of(text)) {
    const std::string_view word = each;
    const auto follows = [&](std::string_view option) {
      return word.starts_with(option) ? word.substr(option.size()) : std::string_view();
    };
    const std::string_view set = known_feature(follows("-m"));
    const std::string_view unset = known_feature(follows("-mno-"));
    const std::string_view cpu = follows("-march=");
    if (set.empty() && unset.empty() && cpu.empty()) continue;
    if (!cpu.empty()) required.add_cpu(cpu);
    if (!set.empty()) required.add(set);
    if (!unset.empty()) required.remove(unset);
    shown += concat(shown.empty() ? "" : " ", word);
  }
  return unmet(required, has, std::move(shown));
}

std::optional<CpuRequirement> unmet_cpu_requirement(const ElfFile& elf, const HasFeature& has) {
  if (elf.machine() != ElfMachine::x86_64) return std::nullopt;
  const ElfImage& image = elf.image();
  auto names = SectionNames::of(image);
  if (!names.ok()) return std::nullopt;
  std::uint64_t left_bytes = max_text_bytes;
  for (std::size_t i = 0; i < image.sections().size(); ++i) {
    const ElfSection& section = image.sections()[i];
    if (section.type != section_type::program_data || section.size > max_section_bytes) continue;
    const auto name = names->name(i);
    if (!name.ok()) continue;
    const bool has_targets = name->starts_with(".rodata");
    const bool has_options = *name == ".GCC.command.line";
    if (!has_targets && !has_options && *name != ".debug_str") continue;
    const auto bytes = image.bytes_of_section(i);
    if (!bytes.ok() || bytes->size() > left_bytes) continue;
    left_bytes -= bytes->size();
    std::string_view left = as_text(*bytes);
    // Nearly no section has one, and a search for a word costs a fraction of a look at each text.
    const auto has_word = [&](std::string_view word) { return left.find(word) != left.npos; };
    if (has_targets ? !has_word("mcpu") && !has_word("mattr") : !has_word("-m")) continue;
    while (!left.empty()) {
      const std::string_view text = left.substr(0, left.find('\0'));
      left.remove_prefix(std::min(text.size() + 1, left.size()));
      if (text.empty()) continue;
      std::optional<CpuRequirement> found;
      if (has_targets) found = unmet_in_target(text, has);
      if (has_options || (!has_targets && text.starts_with("GNU ")))
        found = unmet_in_options(text, has);
      if (found) return found;
    }
  }
  return std::nullopt;
}

std::string to_text(const CpuRequirement& unmet) {
  return concat("it is compiled for ", join(unmet.missing), " (", unmet.text,
                "), which this CPU lacks: calls may end the process with SIGILL; compile it for "
                "this CPU or an older one");
}

}  // namespace gantry
