// SPDX-License-Identifier: Apache-2.0
#include "core/writing/module_edits.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/index.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

std::string_view key_of(const ContainerModule& module) {
  return module.type_key.empty() ? library_key : std::string_view(module.type_key);
}

// Splits "name=file".
Result<std::pair<std::string, std::string>> name_and_file(std::string_view text,
                                                          std::string_view form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return invalid(quoted(text), " is not ", form);
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

class Editor {
 public:
  explicit Editor(std::vector<ContainerModule> modules) : count_(modules.size()) {
    for (std::size_t m = 0; m < count_; ++m)
      modules_.push_back({std::move(modules[m]), m, nullptr});
    dropped_.resize(count_);
  }

  Status drop(std::string_view text) {
    GANTRY_TRY(const std::vector<std::size_t> all, selected(text));
    for (const std::size_t m : all) {
      if (m == 0) {
        return invalid("module ", name(0), " is the root, which cannot be dropped");
      }
      dropped_[m] = true;
    }
    return {};
  }

  Status replace(const ModuleEdits::Replacement& edit) {
    GANTRY_TRY(const std::size_t m, one(edit.module));
    EditedModule& edited = modules_[m];
    if (edited.module.type_key.empty()) {
      return invalid("module ", name(m), " is CPU code, which has no payload to replace");
    }
    if (dropped_[m] || !edited.entry) {
      return invalid("module ", name(m), " is ",
                     dropped_[m] ? "dropped and replaced" : "replaced twice");
    }
    return set_payload(edited, edit.payload);
  }

  Status add(const ModuleEdits::Addition& edit) {
    GANTRY_TRY(const std::size_t parent, parent_of(edit));
    if (dropped_[parent]) {
      return invalid("module ", name(parent), " is dropped and cannot import ",
                     quoted(edit.type_key));
    }
    EditedModule added;
    added.module.type_key = edit.type_key;
    GANTRY_CHECK(set_payload(added, edit.payload));
    modules_[parent].module.imports.push_back(modules_.size());
    modules_.push_back(std::move(added));
    dropped_.push_back(false);
    return {};
  }

  // Modules that nothing imports in the container that was read are kept.
  Status check_lost() const {
    const std::vector<bool> before = reached(true);
    const std::vector<bool> after = reached(false);
    std::vector<std::string> lost;
    std::vector<std::size_t> indices;
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      if (!before[m] || after[m] || dropped_[m]) continue;
      lost.push_back(name(m));
      indices.push_back(m);
    }
    if (lost.empty()) return {};
    return invalid(
        "without the dropped modules, no module imports ",
        join(lost, ", ", std::identity(), max_listed_names), "; drop ",
        lost.size() == 1 ? "it" : "them", " as well (",
        join(
            indices, " ", [](std::size_t m) { return concat("--drop ", m); }, max_listed_names),
        ")");
  }

  std::vector<EditedModule> result() && {
    std::vector<std::size_t> number(modules_.size());
    std::size_t kept = 0;
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      number[m] = kept;
      if (!dropped_[m]) ++kept;
    }
    std::vector<EditedModule> all;
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      if (dropped_[m]) continue;
      EditedModule& edited = all.emplace_back(std::move(modules_[m]));
      std::vector<std::size_t>& imports = edited.module.imports;
      std::erase_if(imports, [&](std::size_t import) { return dropped_[import]; });
      for (std::size_t& import : imports) import = number[import];
    }
    return all;
  }

 private:
  std::string name(std::size_t m) const { return name_of_module(m, modules_[m].module.type_key); }

  // Returns the modules of the container that was read.
  Result<std::vector<std::size_t>> selected(std::string_view text) const {
    if (const auto index = parse_number<std::size_t>(text); index && *index < count_) {
      return std::vector{*index};
    }
    std::vector<std::size_t> found;
    std::vector<std::string> names;
    std::vector<std::string_view> keys;
    for (std::size_t m = 0; m < count_; ++m) {
      if (key_of(modules_[m].module) == text) found.push_back(m);
      names.push_back(name(m));
      keys.push_back(key_of(modules_[m].module));
    }
    if (!found.empty()) return found;
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return not_found("module ", quoted(text), " not found", did_you_mean(text, keys),
                     "; modules: ", join(names, ", ", std::identity(), max_listed_names));
  }

  Result<std::size_t> one(std::string_view text) const {
    GANTRY_TRY(const std::vector<std::size_t> all, selected(text));
    if (all.size() == 1) return all.front();
    return invalid("type key ", quoted(text), " selects ", all.size(),
                   " modules: ", join(all, ", ", std::identity(), max_listed_names),
                   "; name one by its index");
  }

  Result<std::size_t> parent_of(const ModuleEdits::Addition& edit) const {
    if (!edit.parent.empty()) return one(edit.parent);
    for (std::size_t m = 0; m < count_; ++m) {
      if (modules_[m].module.type_key.empty()) return m;
    }
    return 0;
  }

  static Status set_payload(EditedModule& edited, const std::filesystem::path& path) {
    GANTRY_TRY(edited.given, MappedFile::open(path));
    edited.module.write_payload = [file = edited.given](Pieces& out) -> Status {
      out.append(FileRange{file, 0, file->bytes().size()});
      return {};
    };
    edited.entry.reset();
    return {};
  }

  std::vector<bool> reached(bool with_dropped) const {
    std::vector<bool> seen(modules_.size());
    seen[0] = true;
    std::vector<std::size_t> next = {0};
    while (!next.empty()) {
      const std::size_t m = next.back();
      next.pop_back();
      for (const std::size_t import : modules_[m].module.imports) {
        if (seen[import] || (dropped_[import] && !with_dropped)) continue;
        seen[import] = true;
        next.push_back(import);
      }
    }
    return seen;
  }

  std::vector<EditedModule> modules_;
  std::vector<bool> dropped_;
  // of the container that was read
  std::size_t count_;
};

}  // namespace

Result<ModuleEdits::Replacement> parse_replacement(std::string_view text) {
  GANTRY_TRY(auto parts, name_and_file(text, "INDEX=FILE or KEY=FILE"));
  return ModuleEdits::Replacement{std::move(parts.first), std::move(parts.second)};
}

Result<ModuleEdits::Addition> parse_addition(std::string_view text) {
  GANTRY_TRY(auto parts, name_and_file(text, "KEY=FILE or KEY=FILE@PARENT"));
  auto& [key, file] = parts;
  const std::size_t at = file.rfind('@');
  // The '@' of a directory, as in "zlib@1.2/a.bin".
  const bool is_in_directory = at != std::string::npos && file.find('/', at) != std::string::npos;
  if (at == std::string::npos || is_in_directory) return ModuleEdits::Addition{key, file, ""};
  if (at == 0 || at + 1 == file.size()) {
    return invalid(quoted(text), " is not KEY=FILE or KEY=FILE@PARENT");
  }
  return ModuleEdits::Addition{key, file.substr(0, at), file.substr(at + 1)};
}

Result<std::vector<EditedModule>> edit_modules(std::vector<ContainerModule> modules,
                                               const ModuleEdits& edits) {
  Editor editor(std::move(modules));
  for (const std::string& text : edits.drop) GANTRY_CHECK(editor.drop(text));
  for (const auto& edit : edits.replace) GANTRY_CHECK(editor.replace(edit));
  for (const auto& edit : edits.add) GANTRY_CHECK(editor.add(edit));
  GANTRY_CHECK(editor.check_lost());
  return std::move(editor).result();
}

}  // namespace gantry
