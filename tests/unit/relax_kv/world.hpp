// SPDX-License-Identifier: Apache-2.0
//
// A KV cache whose layers store the number of a token instead of keys and values, and a plain
// reference of it: each sequence is a list of tokens. Attention walks the tables as kernels do.
#pragma once

#include "plugins/relax/kv_cache/kv_forward.hpp"

#include <map>
#include <string>
#include <vector>

namespace gantry::relax::test {

using Numbers = std::vector<std::int64_t>;

class World {
 public:
  // shape    [in]   as for read_kv_config()
  explicit World(const Numbers& shape);

  // Each performs a function, compares its result with the reference and checks the invariants.
  // After a failure, it also checks that nothing has changed.
  Status add(std::int64_t id);
  Status remove(std::int64_t id);
  Status fork(std::int64_t parent, std::int64_t child, std::int64_t position = -1);
  Status pop(std::int64_t id, std::int64_t count);
  Status enable_window(std::int64_t id, std::int64_t window, std::int64_t sink);
  Status forward(const Numbers& ids, const Numbers& lengths, const Numbers& parents = {});
  Status accept(const Numbers& ids, const Numbers& leaves);
  void clear();

  // The ids of all sequences.
  Numbers ids() const;
  const std::vector<std::int64_t>& tokens(std::int64_t id) const { return sequences_.at(id); }
  std::vector<std::int32_t> table(const KvTable& table) const;
  const KvBlock& last_block(std::int64_t id) const {
    return cache.blocks()[(*cache.find(id))->last_block];
  }

  KvSequences cache;
  KvForward pass{cache};

 private:
  struct Window {
    std::int64_t size = 0;
    std::int64_t sink = 0;
  };
  // A key that a query attends to.
  struct Key {
    std::int64_t token = 0;
    std::int64_t position = 0;
    friend bool operator==(const Key&, const Key&) = default;
    friend void PrintTo(const Key& key, std::ostream* out) {
      *out << key.token << '@' << key.position;
    }
  };

  std::string state() const;
  void check() const;
  void check_blocks() const;
  Status checked(const std::string& before, Status status) const;
  void copy(const std::optional<KvPageCopy>& copy);
  void shorten(std::int64_t id, std::int64_t count);
  std::vector<std::vector<Key>> attend(const std::vector<std::int64_t>& tokens) const;
  void write(const std::vector<std::int64_t>& tokens);

  // By slot.
  std::vector<std::int64_t> memory_;
  std::map<std::int64_t, std::vector<std::int64_t>> sequences_;
  std::map<std::int64_t, Window> windows_;
  // New tokens of each sequence in the last pass.
  std::map<std::int64_t, std::int64_t> new_tokens_;
  std::int64_t next_token_ = 1;
};

}  // namespace gantry::relax::test
