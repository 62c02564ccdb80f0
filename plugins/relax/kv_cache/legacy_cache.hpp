// SPDX-License-Identifier: Apache-2.0
//
// The attention cache of models before the paged one: one tensor for each cache, which grows by
// doubling its first dimension.
#pragma once

#include "plugins/relax/builtin.hpp"

#include <vector>

namespace gantry::relax {

// A function that fails changes nothing.
//
// thread   one at a time
class LegacyCache {
 public:
  static constexpr const char* type_name = "relax.vm.AttentionKVCacheLegacy";

  // rows     [in]   a tensor whose first dimension counts rows
  // reserve  [in]   shape of the first allocation; more is allocated if `rows` has more
  // fill     [in]   rows that count as filled; -1: those of `rows`
  static Result<LegacyCache> create(const Host& host, const gantry_env* env,
                                    const gantry_tensor& rows,
                                    std::span<const std::int64_t> reserve, std::int64_t fill);

  // Appends rows. costs: a copy of them; where the tensor grows, a copy of all rows
  Status append(const gantry_env* env, const gantry_tensor& rows);
  // Replaces all filled rows by as many others.
  Status update(const gantry_env* env, const gantry_tensor& rows);
  // Appends rows to a window of `max_rows` rows. Those that do not fit replace the oldest, which
  // follow the first `sinks` rows.
  Status override_window(const gantry_env* env, const gantry_tensor& rows, std::int64_t max_rows,
                         std::int64_t sinks);

  // Returns the filled rows in place. Rows that are appended later may be elsewhere.
  //
  // shape    [in]   expected shape; empty: any
  Result<Value> view(std::span<const std::int64_t> shape) const;

  // Removes the last rows.
  Status pop(std::int64_t count);
  void clear() { filled_ = window_at_ = 0; }

 private:
  explicit LegacyCache(const Host& host) : host_(host) {}
  Status check_rows(const gantry_tensor& rows) const;
  Status clear_rows(const gantry_env* env, std::int64_t first, std::int64_t end) const;
  Status reserve(const gantry_env* env, std::int64_t count);
  Status copy(const gantry_env* env, const gantry_tensor& from, std::int64_t first,
              const gantry_tensor& to, std::int64_t at, std::int64_t count) const;

  Host host_;
  Value data_;
  std::int64_t filled_ = 0;
  // The row that override_window() writes next.
  std::int64_t window_at_ = 0;
};

}  // namespace gantry::relax
