// SPDX-License-Identifier: Apache-2.0
#include "core/formats/lost_payload.hpp"

#include "core/formats/limits.hpp"

#include <gantry/quoted.hpp>

#include <cstring>
#include <utility>

namespace gantry {
namespace {

// Searches for offsets after a payload of unknown length at which the missing entries can begin.
class EntrySearch {
 public:
  // in       from the first byte of the payload to the end of the entries
  // missing  number of entries; at least 1
  EntrySearch(const ByteReader& in, std::uint64_t missing, const PayloadLayouts& layouts,
              ArgumentTags tags)
      : in_(in), missing_(missing), layouts_(layouts), tags_(tags) {}

  struct Found {
    // number of offsets that match; the search ends at the second
    int count = 0;
    // offsets from the first byte of the payload
    std::uint64_t first = 0, second = 0;
    // entries at `first`
    std::vector<Entry> entries;
    // all offsets were tried
    bool is_whole = false;
  };

  Found run() {
    Found found;
    const auto bytes = in_.rest();
    std::vector<Entry> entries;
    for (std::uint64_t p = 0; p + 8 < bytes.size() && trials_left_ != 0; ++p) {
      std::uint64_t size;
      std::memcpy(&size, bytes.data() + p, sizeof size);
      if (size == 0 || size > limits::type_key_bytes || size > bytes.size() - p - 8) continue;
      const std::string_view key(reinterpret_cast<const char*>(bytes.data() + p + 8), size);
      if (key != library_key && !layouts_.contains(key)) continue;
      if (!read_entries(ByteReader(bytes.subspan(p), in_.offset() + p), entries)) continue;
      if (found.count++ != 0) {
        found.second = p;
        return found;
      }
      found.first = p;
      found.entries = std::move(entries);
    }
    found.is_whole = trials_left_ != 0;
    return found;
  }

 private:
  // True if the missing entries fill `in` exactly.
  bool read_entries(ByteReader in, std::vector<Entry>& entries) {
    entries.clear();
    for (std::uint64_t i = 0; i < missing_; ++i) {
      if (trials_left_ == 0) return false;
      --trials_left_;
      const auto key = in.read_string("type key");
      if (!key.ok()) return false;
      if (*key == library_key) {
        entries.push_back({*key, in.offset(), {}, Boundary::exact});
        continue;
      }
      const auto measured = layouts_.measure(*key, in, PayloadEnd::unknown, tags_);
      if (!measured.ok()) return false;
      entries.push_back({*key, in.offset(), in.peek(measured->size), Boundary::laid_out});
      if (!in.skip(measured->size, "payload").ok()) return false;
    }
    return in.at_end();
  }

  const ByteReader& in_;
  const std::uint64_t missing_;
  const PayloadLayouts& layouts_;
  const ArgumentTags tags_;
  std::uint64_t trials_left_ = limits::recovery_trials;
};

}  // namespace

std::optional<TreeAtEnd> find_tree(const ByteReader& in, std::uint64_t modules) {
  const auto bytes = in.rest();
  const std::uint64_t key_bytes = 8 + tree_key.size();
  // key, both counts and row 0
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
    if (tree.ok() && tree_in.at_end()) return TreeAtEnd{in.offset() + p, std::move(tree).value()};
  }
  return std::nullopt;
}

RecoveredEntries recover_entries(const ByteReader& in, std::string_view key, std::uint64_t index,
                                 std::uint64_t missing, const PayloadLayouts& layouts,
                                 ArgumentTags tags) {
  const std::uint64_t at = in.offset();
  const std::string what =
      concat("entry ", index, " ", quoted(key), " has no declared payload layout: ");
  if (missing == 0) {
    return {{{key, at, in.rest(), Boundary::recovered}},
            concat(what, "its ", in.left(), " bytes end at the next known offset")};
  }
  const std::string many = concat(missing, missing == 1 ? " entry" : " entries");
  EntrySearch::Found found = EntrySearch(in, missing, layouts, tags).run();
  if (found.is_whole && found.count == 1) {
    found.entries.insert(found.entries.begin(), {key, at, in.peek(found.first), Boundary::guessed});
    return {std::move(found.entries),
            concat(what, "it probably has ", found.first, " bytes, the only size after which the ",
                   many, " that follow it can begin")};
  }
  RecoveredEntries out{{{key, at, in.rest(), Boundary::unknown}}, {}};
  out.entries.resize(missing + 1, {{}, at + in.left(), {}, Boundary::unknown});
  const std::string why = found.count < 2
                              ? ""
                              : concat("the ", many, " that follow it can begin after ",
                                       found.first, " bytes or after ", found.second, ", so ");
  out.warning = concat(what, why, in.left(), " bytes belong to it and to ", missing, " more ",
                       missing == 1 ? "entry" : "entries", " and cannot be divided");
  return out;
}

}  // namespace gantry
