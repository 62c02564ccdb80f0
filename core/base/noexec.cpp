// SPDX-License-Identifier: Apache-2.0
#include "core/base/noexec.hpp"

#include <sys/statvfs.h>

namespace gantry {

bool is_on_noexec(int descriptor) {
  struct statvfs about {};
  return descriptor >= 0 && ::fstatvfs(descriptor, &about) == 0 && (about.f_flag & ST_NOEXEC) != 0;
}

}  // namespace gantry
