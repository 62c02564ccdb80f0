// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;

gantry_value int_value(std::int64_t i) {
  gantry_value value{};
  value.kind = GANTRY_INT;
  value.i = i;
  return value;
}

gantry_value cstring_value(const char* text) {
  gantry_value value{};
  value.kind = GANTRY_CSTRING;
  value.cstring = text;
  return value;
}

std::string text_of(const gantry_value& value) {
  gantry_bytes bytes{};
  return gantry_value_bytes(&value, &bytes) ? std::string(bytes.data, bytes.size) : "(no text)";
}

std::uint32_t strong_count(const gantry_object* object) {
  return static_cast<std::uint32_t>(object->counts);
}

// An object that tells when it goes: a pin over a flag.
struct Watched {
  bool gone = false;
  ObjectPtr object = new_pin({this, [](Watched* self) { self->gone = true; }}).value();
};

TEST(Object, BeginsWithOneStrongAndOneWeakReference) {
  const auto text = new_text(GANTRY_STRING, "x").value();

  EXPECT_EQ(text->header.counts, 0x1'0000'0001u);
  EXPECT_EQ(text->header.kind, GANTRY_STRING);
}

TEST(Object, TextKeepsEveryByteAndEndsWithNul) {
  const std::string bytes("a\0b", 3);

  const auto text = new_text(GANTRY_BYTES, bytes).value();

  EXPECT_EQ(std::string(text->text.data, text->text.size), bytes);
  EXPECT_EQ(text->text.data[3], '\0');
}

TEST(Object, TextReadsAsAValue) {
  const OwnedValue value(new_text(GANTRY_STRING, "hello").value());

  EXPECT_EQ(text_of(value.get()), "hello");
}

TEST(Object, RefusesATextOfAnotherKind) {
  const auto text = new_text(GANTRY_SHAPE, "x");

  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::invalid);
  EXPECT_EQ(text.error().message,
            "a text object of kind 69 is asked for, kinds are 65 (string) and 66 (bytes)");
}

TEST(Object, ShapeIsACopy) {
  std::vector<std::int64_t> dims = {2, -1, 5};

  const auto shape = new_shape(dims).value();
  dims[0] = 9;

  EXPECT_EQ(shape->header.kind, GANTRY_SHAPE);
  EXPECT_THAT(std::span(shape->dims, shape->count), ElementsAre(2, -1, 5));
}

TEST(Object, ShapeOfNoDimensionsIsAShape) {
  const auto shape = new_shape({}).value();

  EXPECT_EQ(shape->count, 0u);
  EXPECT_NE(shape->dims, nullptr);
}

TEST(Object, PinKeepsWhatItHoldsUntilItsLastRelease) {
  Watched watched;
  ObjectPtr second = watched.object;

  watched.object = {};
  EXPECT_FALSE(watched.gone);
  second = {};

  EXPECT_TRUE(watched.gone);
}

TEST(Object, RefTakeGivesTheReferenceAway) {
  Watched watched;

  gantry_object* const bare = watched.object.take();

  EXPECT_FALSE(watched.object);
  EXPECT_EQ(strong_count(bare), 1u);
  release(bare);
  EXPECT_TRUE(watched.gone);
}

TEST(Object, OwnedValueCountsItsCopies) {
  Watched watched;
  const gantry_object* const object = watched.object.get();
  OwnedValue first(std::move(watched.object));

  {
    const OwnedValue second = first;
    EXPECT_EQ(strong_count(object), 2u);
  }

  EXPECT_EQ(strong_count(object), 1u);
  first = {};
  EXPECT_TRUE(watched.gone);
}

TEST(Items, KeepEveryObjectAndReleaseIt) {
  Watched watched;
  const gantry_value items[] = {int_value(7), value_of(watched.object.get())};

  auto array = new_items(GANTRY_ARRAY, items).value();
  watched.object = {};

  EXPECT_FALSE(watched.gone);
  ASSERT_EQ(array->count, 2u);
  EXPECT_EQ(array->items[0].i, 7);
  array = {};
  EXPECT_TRUE(watched.gone);
}

TEST(Items, CopyBorrowedTextsIntoObjects) {
  std::string first = "first", second = "second";
  const gantry_bytes view = {second.data(), second.size()};
  gantry_value bytes{};
  bytes.kind = GANTRY_BYTES_REF;
  bytes.bytes = &view;
  const gantry_value items[] = {cstring_value(first.c_str()), bytes};

  const auto map = new_items(GANTRY_MAP, items).value();
  first.assign(first.size(), '-');
  second.assign(second.size(), '-');

  EXPECT_EQ(map->items[0].kind, GANTRY_STRING);
  EXPECT_EQ(text_of(map->items[0]), "first");
  EXPECT_EQ(map->items[1].kind, GANTRY_BYTES);
  EXPECT_EQ(text_of(map->items[1]), "second");
}

TEST(Items, KeepSmallTextsAsTheyAre) {
  gantry_value small{};
  small.kind = GANTRY_SMALL_STRING;
  small.small_size = 2;
  small.small[0] = 'h';
  small.small[1] = 'i';

  const auto array = new_items(GANTRY_ARRAY, {&small, 1}).value();

  EXPECT_EQ(array->items[0].kind, GANTRY_SMALL_STRING);
  EXPECT_EQ(text_of(array->items[0]), "hi");
}

TEST(Items, MayBeNone) {
  const auto array = new_items(GANTRY_ARRAY, {}).value();

  EXPECT_EQ(array->count, 0u);
}

struct BadItem {
  const char* name;
  gantry_value item;
  const char* message;
};

gantry_value bare(std::int32_t kind) {
  gantry_value value{};
  value.kind = kind;
  return value;
}

class ItemsRefuse : public ::testing::TestWithParam<BadItem> {};

TEST_P(ItemsRefuse, WhatCannotBeKept) {
  Watched watched;
  const gantry_value items[] = {value_of(watched.object.get()), GetParam().item};

  const auto array = new_items(GANTRY_ARRAY, items);

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::invalid);
  EXPECT_EQ(array.error().message, GetParam().message);
  EXPECT_EQ(strong_count(watched.object.get()), 1u) << "the item before it is still held";
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ItemsRefuse,
    ::testing::Values(
        BadItem{"BorrowedTensor", bare(GANTRY_TENSOR_REF),
                "item 1 is a borrowed tensor, only tensor objects can be kept"},
        BadItem{"TextAtNull", bare(GANTRY_CSTRING), "item 1 is a text at address 0"},
        BadItem{"BytesAtNull", bare(GANTRY_BYTES_REF), "item 1 is a text at address 0"},
        BadItem{"ObjectAtNull", bare(GANTRY_ARRAY), "item 1 is an object at address 0"},
        BadItem{"MovedReference", bare(10), "item 1 has kind 10, which is no kind of value"},
        BadItem{"UnlistedObject", bare(67), "item 1 has kind 67, which is no kind of value"},
        BadItem{"Negative", bare(-1), "item 1 has kind -1, which is no kind of value"}),
    [](const auto& test) { return test.param.name; });

TEST(Items, RefuseAMapOfOddCount) {
  const gantry_value item = int_value(1);

  const auto map = new_items(GANTRY_MAP, {&item, 1});

  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().code, Code::invalid);
  EXPECT_EQ(map.error().message, "map has 1 items, keys and values come in pairs");
}

TEST(Items, RefuseAnotherKind) {
  const auto items = new_items(GANTRY_SHAPE, {});

  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().code, Code::invalid);
  EXPECT_EQ(items.error().message,
            "a collection of kind 69 is asked for, kinds are 71 (array) and 72 (map)");
}

TEST(Object, CountsReferencesOfSeveralThreads) {
  Watched watched;
  gantry_object* const object = watched.object.get();
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([object] {
      for (int i = 0; i < 20000; ++i) {
        const ObjectPtr one = ObjectPtr::share(object);
        const ObjectPtr two = one;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(object->counts, kFreshCounts);
  EXPECT_FALSE(watched.gone);
}

TEST(Object, IsFreedOnceByTheLastOfSeveralThreads) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> freed = 0;
    ObjectPtr object =
        new_pin(std::shared_ptr<const void>(&freed, [](std::atomic<int>* f) { ++*f; })).value();
    std::array<std::thread, 3> threads;
    for (std::thread& thread : threads) {
      thread = std::thread([mine = object]() mutable { mine = {}; });
    }

    object = {};
    for (std::thread& thread : threads) thread.join();

    ASSERT_EQ(freed, 1);
  }
}

}  // namespace
}  // namespace gantry
