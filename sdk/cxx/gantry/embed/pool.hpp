// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/pool.hpp - threads that several runtimes share.
#pragma once

#include <gantry/embed/object.hpp>
#include <gantry/embed/table.hpp>

#include <cstdint>
#include <utility>

namespace gantry {
inline namespace embed_api {

class Pool : public Object {
 public:
  Pool() = default;

  // threads  [in]   including the caller of a run; 0: one for each allowed CPU
  // spins    [in]   false: waiting threads sleep at once
  // returns  INVALID  the number of threads (ARGUMENT_RANGE)
  static Result<Pool> create(int threads = 0, bool spins = true) {
    gantry_pool_options options{};
    options.struct_size = sizeof options;
    if (!spins) options.flags |= GANTRY_POOL_NO_SPIN;
    options.threads = threads;
    GANTRY_TRY(ObjectRef made, embed_detail::made_object(
                                   "pool_new", [&](gantry_object** out, gantry_status* status) {
                                     return embed_table().pool_new(&options, out, status);
                                   }));
    return Pool(std::move(made));
  }

 private:
  explicit Pool(ObjectRef object) : Object(std::move(object)) {}
};

}  // namespace embed_api
}  // namespace gantry
