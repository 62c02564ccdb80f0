// SPDX-License-Identifier: Apache-2.0
#include "core/base/process_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cfenv>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Scope = ProcessState::Scope;

// Flags of exceptions are results of computations.
TEST(ProcessState, DoesNotIncludeFloatingPointExceptions) {
  std::feclearexcept(FE_ALL_EXCEPT);
  ProcessState before(Scope::plugin);
  std::feraiseexcept(FE_INEXACT);

  EXPECT_THAT(before.restore(), IsEmpty());
  EXPECT_NE(std::fetestexcept(FE_INEXACT), 0);
}

TEST(ProcessState, OfAnArtifactDoesNotIncludeTheCreationMask) {
  const mode_t mask = umask(022);
  ProcessState artifact(Scope::artifact), plugin(Scope::plugin);
  umask(027);

  EXPECT_THAT(artifact.restore(), IsEmpty());
  EXPECT_THAT(plugin.restore(), ElementsAre("the file mode creation mask"));
  EXPECT_EQ(umask(mask), 022u);
}

TEST(ProcessState, NamesEveryChange) {
  const mode_t mask = umask(022);
  ProcessState before(Scope::plugin);
  umask(027);
  std::fesetround(FE_UPWARD);

  EXPECT_THAT(before.restore(),
              ElementsAre("the floating-point control register", "the file mode creation mask"));
  EXPECT_THAT(before.restore(), IsEmpty());
  umask(mask);
}

}  // namespace
}  // namespace gantry
