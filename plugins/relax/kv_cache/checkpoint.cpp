// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.hpp"

#include <gantry/concat.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

namespace gantry::relax {
namespace {

constexpr std::string_view format = "gantry.kv_cache/1";
constexpr std::size_t max_text = 4096;

template <class... Parts>
Failure refuse_checkpoint(const Parts&... parts) {
  return invalid("checkpoint of a KV cache: ", parts...).with_reason("KV_CHECKPOINT");
}

Status check_member(const JsonValue& root, std::string_view name, std::string_view expected) {
  const std::optional<JsonValue> member = root.find(name);
  if (!member || !member->is(JsonKind::text))
    return refuse_checkpoint("metadata has no text ", quoted(name), ", expected ",
                             quoted(expected));
  if (member->text() == expected) return {};
  return refuse_checkpoint(name, " is ", quoted(member->text()), ", expected ", quoted(expected));
}

}  // namespace

std::string kv_layout(const CacheArguments& arguments) {
  return concat("layers=", arguments.layer_count, ",heads=", arguments.kv_heads,
                ",dimension=", arguments.dimension, ",page=", arguments.config.page_size, ",",
                dtype_text(arguments.dtype), ",rope=", static_cast<int>(arguments.rope_mode));
}

std::string checkpoint_text(const CacheArguments& arguments, std::int32_t tokens) {
  return concat("{\"format\":\"", format, "\",\"layout\":\"", kv_layout(arguments),
                "\",\"tokens\":", tokens,
                ",\"pages\":", pages_of(tokens, arguments.config.page_size),
                ",\"groups\":", arguments.layer_count, "}");
}

Result<std::int32_t> read_checkpoint(const CacheArguments& arguments, std::string_view text) {
  if (text.size() > max_text)
    return refuse_checkpoint("metadata has ", text.size(), " bytes, limit is ", max_text);
  const auto tree = JsonTree::parse(text);
  if (!tree.ok()) return refuse_checkpoint("metadata: ", tree.error().message);
  if (!tree->root().is(JsonKind::object)) return refuse_checkpoint("metadata is no JSON object");
  GANTRY_CHECK(check_member(tree->root(), "format", format));
  GANTRY_CHECK(check_member(tree->root(), "layout", kv_layout(arguments)));
  const std::optional<JsonValue> tokens = tree->root().find("tokens");
  const auto max = static_cast<std::uint64_t>(arguments.config.page_count) *
                   static_cast<std::uint64_t>(arguments.config.page_size);
  if (!tokens || !tokens->is(JsonKind::count))
    return refuse_checkpoint("metadata has no number \"tokens\"");
  if (tokens->count() > max)
    return refuse_checkpoint("tokens is ", tokens->count(), ", this cache has room for ", max);
  return static_cast<std::int32_t>(tokens->count());
}

}  // namespace gantry::relax
