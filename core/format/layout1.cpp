// SPDX-License-Identifier: Apache-2.0
#include "core/format/layout1.hpp"

#include "core/format/limits.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>

namespace gantry {
namespace {

// A lost payload. Where a key is unknown, nothing says where its payload ends and the next entry
// begins. What can still be known:
//
//   - The tree is found from the end: its key, then two arrays that fill the rest exactly and count
//     one row more than there are modules. That is no guess.
//   - If the unknown payload is the last one, it ends where the tree (or, without one, the container)
//     begins.
//   - Else some place behind it begins with a key we know, and from there exactly as many entries as
//     are missing end exactly at the tree. Where just one place does, the payload probably ends there:
//     a guess, for a payload may hold anything, and what it holds may look like entries.
//   - Else the rest is one payload of unknown extent, and its successors are listed without a key.
class LostPayload {
 public:
  // in       at the payload's first byte
  // missing  entries behind it, without the tree
  LostPayload(const ByteReader& in, std::uint64_t missing, const PayloadLayouts& layouts,
              ExporterFacts::ArgumentTags tags)
      : in_(in), missing_(missing), layouts_(layouts), tags_(tags) {}

  // Appends the entry with the unknown key and all behind it; says how in a warning.
  void recover(std::string_view key, std::uint64_t end, Modules& out) const {
    const std::uint64_t at = in_.offset();
    const std::uint64_t room = end - at;
    const std::uint64_t index = out.entries.size();
    const std::string what =
        concat("entry ", index, " ", quoted(key), " has a payload layout that nobody declared: ");
    if (missing_ == 0) {
      out.entries.push_back({key, at, in_.peek(room), Boundary::recovered});
      out.warnings.push_back(concat(what, "its ", room, " bytes follow from what lies behind it"));
      return;
    }
    const std::string many = concat(missing_, missing_ == 1 ? " entry" : " entries");
    const Search search = find_next(room);
    if (search.is_whole && search.fits == 1) {
      out.entries.push_back({key, at, in_.peek(search.first), Boundary::guessed});
      out.entries.insert(out.entries.end(), search.behind.begin(), search.behind.end());
      out.warnings.push_back(concat(what, "it probably has ", search.first, " bytes, for the ",
                                    many, " behind it can begin nowhere else"));
      return;
    }
    out.entries.push_back({key, at, in_.peek(room), Boundary::unknown});
    for (std::uint64_t i = 0; i < missing_; ++i) {
      out.entries.push_back({{}, end, {}, Boundary::unknown});
    }
    const std::string why = search.fits < 2
                                ? ""
                                : concat("the ", many, " behind it can begin after ", search.first,
                                         " bytes or after ", search.second, ", so ");
    out.warnings.push_back(concat(what, why, room, " bytes belong to it and to ", missing_,
                                  " more ", missing_ == 1 ? "entry" : "entries",
                                  " that cannot be told apart"));
  }

 private:
  // Where the entries behind the payload can begin, as distances from its first byte.
  struct Search {
    // 2: there may be more, nobody needs them
    int fits = 0;
    std::uint64_t first = 0, second = 0;
    // as they are read from `first`
    std::vector<Entry> behind;
    // every place was tried
    bool is_whole = false;
  };

  Search find_next(std::uint64_t room) const {
    Search search;
    const auto bytes = in_.peek(room);
    std::uint64_t trials_left = limits::recovery_trials;
    std::vector<Entry> behind;
    for (std::uint64_t p = 0; p + 8 < bytes.size() && trials_left != 0; ++p) {
      std::uint64_t size;
      std::memcpy(&size, bytes.data() + p, sizeof size);
      if (size == 0 || size > limits::type_key_bytes || size > bytes.size() - p - 8) continue;
      const std::string_view key(reinterpret_cast<const char*>(bytes.data() + p + 8), size);
      if (key != library_key && !layouts_.knows(key)) continue;
      if (!read_behind(ByteReader(bytes.subspan(p), in_.offset() + p), behind, trials_left)) {
        continue;
      }
      if (search.fits++ != 0) {
        search.second = p;
        return search;
      }
      search.first = p;
      search.behind = std::move(behind);
    }
    search.is_whole = trials_left != 0;
    return search;
  }

  bool read_behind(ByteReader in, std::vector<Entry>& behind, std::uint64_t& trials_left) const {
    behind.clear();
    for (std::uint64_t i = 0; i < missing_; ++i) {
      if (trials_left == 0) return false;
      --trials_left;
      const auto key = in.read_string("type key");
      if (!key.ok()) return false;
      if (*key == library_key) {
        behind.push_back({*key, in.offset(), {}, Boundary::exact});
        continue;
      }
      const auto measured = layouts_.measure(*key, in, PayloadEnd::unknown, tags_);
      if (!measured.ok()) return false;
      behind.push_back({*key, in.offset(), in.peek(measured->size), Boundary::laid_out});
      if (!in.skip(measured->size, "payload").ok()) return false;
    }
    return in.at_end();
  }

  ByteReader in_;
  std::uint64_t missing_;
  const PayloadLayouts& layouts_;
  ExporterFacts::ArgumentTags tags_;
};

struct FoundTree {
  // of its key
  std::uint64_t at;
  // behind its last edge
  std::uint64_t end;
  ImportTree tree;
};

// Looks for the tree from the end: `modules` + 1 rows, and nothing behind the edges.
std::optional<FoundTree> find_tree(const ByteReader& in, std::uint64_t modules) {
  const auto bytes = in.rest();
  const std::uint64_t key_bytes = 8 + tree_key.size();
  // both counts, row 0
  const std::uint64_t fixed_bytes = key_bytes + 8 + 8 + 8;
  if (bytes.size() < fixed_bytes) return std::nullopt;
  std::uint64_t trials_left = limits::recovery_trials;
  for (std::uint64_t p = bytes.size() - fixed_bytes + 1; p-- > 0 && trials_left != 0;) {
    std::uint64_t size, rows;
    std::memcpy(&size, bytes.data() + p, sizeof size);
    if (size != tree_key.size() ||
        std::memcmp(bytes.data() + p + 8, tree_key.data(), tree_key.size()) != 0) {
      continue;
    }
    std::memcpy(&rows, bytes.data() + p + key_bytes, sizeof rows);
    if (rows != modules + 1) continue;
    --trials_left;
    ByteReader tree_in(bytes.subspan(p + key_bytes), in.offset() + p + key_bytes);
    auto tree = ImportTree::parse(tree_in);
    if (tree.ok() && tree_in.at_end()) {
      return FoundTree{in.offset() + p, tree_in.offset(), std::move(tree).value()};
    }
  }
  return std::nullopt;
}

bool has_library(const std::vector<Entry>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return entry.is_library(); });
}

// Place lines for errors: which entry it was, and that the fault may lie in the one before.
Error location(Error error, std::uint64_t index, std::string_view key, std::uint64_t at) {
  return std::move(error).at("while reading entry ", index, " ", quoted(key), " at ", Hex{at});
}

}  // namespace

Result<Modules> read_layout1(ByteReader in, const PayloadLayouts& layouts,
                             ExporterFacts::ArgumentTags tags) {
  Modules out;
  const std::uint64_t count_at = in.offset();
  // The shortest entry is a key of one character.
  GANTRY_TRY(const std::uint64_t count, in.read_count(8 + 1, "entry count"));

  bool lost = false;
  std::string_view last_key;
  // of last_key
  std::span<const PayloadLayout> alternatives;
  for (std::uint64_t i = 0; i < count && !lost; ++i) {
    const std::uint64_t key_at = in.offset();
    GANTRY_TRY(const auto key, read_type_key(in, i));
    if (key == tree_key) {
      if (i + 1 != count) {
        return malformed(key_at, "import tree is entry ", i, " of ", count, ", expected the last")
            .with_reason("TREE_PLACE");
      }
      const std::uint64_t tree_at = in.offset();
      auto tree = ImportTree::parse(in);
      if (!tree.ok()) return location(std::move(tree).error(), i, key, tree_at);
      out.tree = std::move(tree).value();
      continue;
    }
    const std::uint64_t at = in.offset();
    if (key == library_key) {
      out.entries.push_back({key, at, {}, Boundary::exact});
      continue;
    }
    if (key != last_key) {
      last_key = key;
      alternatives = layouts.alternatives(key);
    }
    const auto measured = layouts.measure(key, alternatives, in, PayloadEnd::unknown, tags);
    if (!measured.ok() && measured.error().code == Code::not_found) {
      lost = true;
      auto tree = find_tree(in, count - 1);
      const std::uint64_t modules = tree ? count - 1 : count;
      const std::uint64_t end = tree ? tree->at : at + in.left();
      if (i + 1 > modules) {
        // The tree that was found counts this entry as itself, so the bytes are something else.
        return malformed(key_at, "entry ", i, " ", quoted(key), " stands where the import tree is")
            .with_reason("TREE_PLACE");
      }
      // judged below
      if (!tree && has_library(out.entries)) break;
      LostPayload(in, modules - i - 1, layouts, tags).recover(key, end, out);
      if (tree) out.tree = std::move(tree->tree);
      GANTRY_CHECK(in.skip(in.left(), "payloads"));
      continue;
    }
    if (!measured.ok()) return location(measured.error(), i, key, at);
    out.entries.push_back({key, at, in.peek(measured->size), Boundary::laid_out});
    GANTRY_CHECK(in.skip(measured->size, "payload"));
  }

  if (!out.tree && has_library(out.entries)) {
    return malformed(count_at, "container has a _lib entry but no import tree")
        .with_reason("TREE_MISSING");
  }
  if (out.tree && out.tree->module_count() != out.entries.size()) {
    return malformed(count_at, "import tree has ", out.tree->module_count(),
                     " modules, container has ", out.entries.size())
        .with_reason("TREE_ROWS");
  }
  if (!in.at_end()) {
    out.warnings.push_back(concat(in.left(), " bytes follow the last entry"));
  }
  return out;
}

}  // namespace gantry
