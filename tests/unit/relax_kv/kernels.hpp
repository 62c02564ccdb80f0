// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a model as plain loops, with 2 query heads, 1 key and value head and 2 elements each.
// They read their tables as compiled kernels do, and work on both devices of the fake host.
#pragma once

#include "tests/unit/relax_kv/functions.hpp"

#include <array>

namespace gantry::relax::test {

constexpr std::int64_t query_heads = 2;
constexpr std::int64_t dimension = 2;
// Numbers of one token's queries, keys and values.
constexpr std::int64_t qkv_size = (query_heads + 2) * dimension;

using Vector = std::array<double, dimension>;

// A rotary embedding: turns the vector by an angle that depends on the position.
Vector rotated(const Vector& vector, std::int64_t position);

struct Key {
  Vector k{};
  Vector v{};
};
// Returns the sum of the keys' values, weighted by the softmax of their products with q, and the
// logarithm of the sum of weights.
struct Attended {
  Vector out{};
  double lse = 0;
};
Attended attend(const Vector& q, const std::vector<Key>& keys, double sm_scale);

class Kernels {
 public:
  explicit Kernels(gantry::test::FakeHost& fake);

  // A function by its name: "ragged", "prefill", "decode", "sliding_prefill", "sliding_decode",
  // "merge", "split", "append", "copy_page", "get_kv", "unused".
  gantry_value function(const std::string& name);
  // Names of the kernels that were called.
  std::vector<std::string> calls;
  // The kernel that fails, with its text.
  std::string failing;

 private:
  using Args = std::span<const gantry_value>;
  void add(const std::string& name, void (Kernels::*kernel)(Args));
  template <class T = float>
  T* data(const gantry_value& value) const;
  const float* key_of(const gantry_value& pages, std::int64_t slot, int which) const;

  void split(Args args);
  void append(Args args);
  void ragged(Args args);
  void prefill(Args args);
  void decode(Args args);
  void merge(Args args);
  void copy_page(Args args);
  void get_kv(Args args);
  void attend_pages(Args tables, Args tail, std::int64_t entry, std::int64_t row,
                    const gantry_value& q);
  void write(Args tail, std::int64_t row, std::int64_t head, const Attended& result);

  gantry::test::FakeHost& fake_;
  Host host_{fake_.table()};
  std::vector<ObjectRef> functions_;
};

}  // namespace gantry::relax::test
