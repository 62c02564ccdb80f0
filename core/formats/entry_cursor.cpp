// SPDX-License-Identifier: Apache-2.0
#include "core/formats/entry_cursor.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry {
namespace {

// an entry with a key of one character and no payload
constexpr std::uint64_t min_entry_bytes = 8 + 1;

}  // namespace

Status EntryCursor::read_count() {
  if (layout_ == ContainerLayout::one) {
    GANTRY_TRY(count_, in_.read_count(min_entry_bytes, "entry count"));
    return {};
  }
  GANTRY_TRY(modules_.tree, ImportTree::parse(in_));
  count_ = modules_.tree->module_count();
  // Checked before memory for the entries is reserved.
  const std::uint64_t room = in_.left() / min_entry_bytes;
  if (*count_ > room) {
    return malformed(in_.offset(), "entry count ", *count_, " of the import tree, room for ", room)
        .with_reason("BLOB_TRUNCATED");
  }
  modules_.entries.reserve(*count_);
  return {};
}

void EntryCursor::set_key(std::string_view key) {
  key_ = key;
  is_library_ = key == library_key;
  is_tree_ = key == tree_key;
  alternatives_ = layouts_->alternatives(key);
}

void EntryCursor::add(const Entry& entry) {
  modules_.entries.push_back(entry);
  modules_.library_count += entry.is_library() ? 1 : 0;
  ++read_;
}

Result<bool> EntryCursor::next() {
  if (!count_) GANTRY_CHECK(read_count());
  while (read_ != *count_) {
    const std::uint64_t key_at = in_.offset();
    const auto key = in_.read_string("type key");
    // The name of the field is only built for an error.
    if (!key.ok()) {
      return std::move(in_.read_string(concat("type key of entry ", index()).c_str())).failure();
    }
    // Many entries have the same key as the previous one.
    if (*key != key_ || key->empty()) {
      if (!is_type_key(*key)) return type_key_error(*key, key_at, index());
      set_key(*key);
    }
    if (is_library_) {
      add({key_, in_.offset(), {}, Boundary::exact});
    } else if (layout_ == ContainerLayout::two) {
      GANTRY_CHECK(read_sized());
    } else if (is_tree_) {
      GANTRY_CHECK(read_tree(key_at));
    } else {
      GANTRY_TRY(const bool is_measured, read_measured());
      if (is_measured) continue;
      GANTRY_CHECK(check_tree_at_end());
      is_pending_ = true;
      return true;
    }
  }
  return false;
}

Status EntryCursor::read_sized() {
  const auto payload = in_.read_string("payload");
  if (!payload.ok()) {
    return Error(payload.error()).at("while reading entry ", read_, " ", quoted(key_));
  }
  if (payload->empty() && empty_count_++ == 0) first_empty_ = read_;
  add({key_,
       in_.offset() - payload->size(),
       {reinterpret_cast<const std::uint8_t*>(payload->data()), payload->size()},
       Boundary::exact});
  return {};
}

Status EntryCursor::read_tree(std::uint64_t key_at) {
  if (read_ + 1 != *count_) {
    return malformed(key_at, "import tree is entry ", read_, " of ", *count_, ", expected the last")
        .with_reason("TREE_PLACE");
  }
  const std::uint64_t at = in_.offset();
  auto tree = ImportTree::parse(in_);
  if (!tree.ok()) {
    return std::move(tree).failure().at("while reading entry ", read_, " ", quoted(tree_key),
                                        " at ", Hex{at});
  }
  modules_.tree = std::move(tree).value();
  ++read_;
  return {};
}

// Returns false if the key has no payload layout.
Result<bool> EntryCursor::read_measured() {
  auto measured = layouts_->measure(key_, alternatives_, in_, PayloadEnd::unknown, tags_);
  if (measured.ok()) {
    GANTRY_CHECK(accept(measured->size));
    return true;
  }
  if (measured.error().code == Code::not_found) return false;
  return std::move(measured).failure().at("while reading entry ", index(), " ", quoted(key_),
                                          " at ", Hex{in_.offset()});
}

Status EntryCursor::accept(std::uint64_t size) {
  const std::uint64_t at = in_.offset();
  if (size > in_.left()) {
    return malformed(at, "loader of ", quoted(key_), " consumed ", ByteCount(size), ", room for ",
                     ByteCount(in_.left()))
        .with_reason("BLOB_CONSUMED");
  }
  GANTRY_TRY(const auto payload, in_.read_bytes(size, "payload"));
  add({key_, at, payload, Boundary::laid_out});
  is_pending_ = false;
  return {};
}

// Searches the tree, which is at the end of the container if there is one.
void EntryCursor::search_tree() {
  // The caller may have accepted a part of the tree as payload.
  const bool is_passed = tree_ && tree_->at < in_.offset();
  if (!is_searched_ || is_passed) tree_ = find_tree(in_, *count_ - 1);
  is_searched_ = true;
}

Status EntryCursor::check_tree_at_end() {
  search_tree();
  if (!tree_ && modules_.library_count != 0) return tree_missing();
  if (tree_ && read_ + 1 == *count_) {
    // The entry count includes the tree, so there is no room for another entry before it.
    return malformed(in_.offset() - key_.size() - 8, "entry ", read_, " ", quoted(key_),
                     " is in the place of the import tree")
        .with_reason("TREE_PLACE");
  }
  return {};
}

std::uint64_t EntryCursor::index() {
  if (layout_ == ContainerLayout::two || modules_.library_count != 0) return read_;
  search_tree();
  return module_index();
}

void EntryCursor::recover() {
  const std::uint64_t modules = *count_ - (tree_ ? 1 : 0);
  const std::uint64_t size = tree_ ? tree_->at - in_.offset() : in_.left();
  RecoveredEntries found = recover_entries(ByteReader(in_.peek(size), in_.offset()), key_,
                                           module_index(), modules - read_ - 1, *layouts_, tags_);
  for (const Entry& entry : found.entries) add(entry);
  modules_.warnings.push_back(std::move(found.warning));
  if (tree_) modules_.tree = std::move(tree_->tree);
  // the recovered entries and the tree extend to the end
  in_ = ByteReader({}, in_.offset() + in_.left());
}

Failure EntryCursor::tree_missing() const {
  return malformed(begin_, "container has a _lib entry but no import tree")
      .with_reason("TREE_MISSING");
}

Result<Modules> EntryCursor::finish() && {
  if (!is_pending_) GANTRY_CHECK(next());
  if (is_pending_) recover();
  if (!modules_.tree && modules_.library_count != 0) return tree_missing();
  if (modules_.tree && modules_.tree->module_count() != modules_.entries.size()) {
    return malformed(begin_, "import tree has ", modules_.tree->module_count(),
                     " modules, container has ", modules_.entries.size())
        .with_reason("TREE_ROWS");
  }
  if (empty_count_ != 0) {
    const std::string more =
        empty_count_ == 1 ? " has" : concat(" and ", empty_count_ - 1, " more have");
    modules_.warnings.push_back(Message("entry ", first_empty_, " ",
                                        quoted(modules_.entries[first_empty_].type_key), more,
                                        " an empty payload, which TVM's own loader rejects"));
  }
  if (!in_.at_end()) {
    modules_.warnings.push_back(Message(in_.left(), " bytes follow the last entry"));
  }
  return std::move(modules_);
}

}  // namespace gantry
