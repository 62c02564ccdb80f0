// SPDX-License-Identifier: Apache-2.0
#include "core/formats/detail_sink.hpp"

#include <gantry/result.hpp>

#include <algorithm>

namespace gantry {

Detail* DetailSink::add(Detail& to) {
  if (items == max) {
    cut = true;
    return nullptr;
  }
  ++items;
  return &to.children.emplace_back();
}

void DetailSink::add_text(Detail& to, std::string_view name, std::string_view text) {
  Detail* const out = add(to);
  if (out == nullptr) return;
  out->name = name;
  set_text(out, text);
}

Detail* DetailSink::add_list(Detail& to, std::string_view name) {
  Detail* const out = add(to);
  if (out != nullptr) *out = {Detail::Kind::list, std::string(name), {}, {}};
  return out;
}

void set_text(Detail* out, std::string_view text) {
  if (out == nullptr) return;
  if (text.size() > limits::detail_text_bytes) return set_size(out, text.size());
  out->kind = Detail::Kind::text;
  out->value = text;
}

void set_size(Detail* out, std::uint64_t size) {
  if (out == nullptr) return;
  out->kind = Detail::Kind::size;
  out->value = concat(size);
}

void take_name(Detail& item) {
  const auto name = std::find_if(item.children.begin(), item.children.end(), [](const Detail& d) {
    return d.name == "name" && d.kind == Detail::Kind::text;
  });
  if (name == item.children.end()) return;
  item.name = std::move(name->value);
  item.children.erase(name);
}

}  // namespace gantry
