// SPDX-License-Identifier: Apache-2.0
//
// What most tests include, to be compiled once: tests/CMakeLists.txt. No source includes it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
