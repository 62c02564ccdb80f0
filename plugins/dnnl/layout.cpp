// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <algorithm>
#include <cctype>

namespace gantry::dnnl_plugin {
namespace {

// Returns the layout that oneDNN has a name for: "aBcd16b" for NCHW16c. Empty if it has none.
//
// dims     [in]   extents that are no multiple of their blocks are padded
Desc named_desc(const Layout& layout, std::string_view letters, const Dims& dims, DataType type) {
  std::string name;
  for (const char letter : layout.letters) {
    const bool has_block = std::ranges::any_of(
        layout.blocks, [&](const auto& block) { return std::toupper(block.letter) == letter; });
    name += static_cast<char>((has_block ? 'A' : 'a') + static_cast<int>(letters.find(letter)));
  }
  for (const Layout::Block& block : layout.blocks) {
    const std::size_t axis = letters.find(static_cast<char>(std::toupper(block.letter)));
    name += concat(block.size);
    name += static_cast<char>('a' + axis);
  }
  for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
    if (name == dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag)))
      return Desc(dims, type, static_cast<::dnnl::memory::format_tag>(tag));
  }
  return {};
}

// The dimensions of a layout with blocks, each with its blocks behind it: {N, C, 16, H, W} for NCHW16c.
struct SplitDims {
  Dims dims;
  // The axis of each in the tensor that the graph has.
  std::vector<int> axes;
};
SplitDims split_dims(const Layout& layout, std::string_view letters, const Dims& shape) {
  SplitDims split;
  const auto add = [&](std::size_t axis) {
    split.dims.push_back(shape[axis]);
    split.axes.push_back(static_cast<int>(axis));
  };
  for (const char letter : letters) {
    add(layout.letters.find(letter));
    for (std::size_t i = 0; i < layout.blocks.size(); ++i) {
      if (std::toupper(layout.blocks[i].letter) == letter) add(layout.letters.size() + i);
    }
  }
  return split;
}

std::vector<int> inverse(const std::vector<int>& axes) {
  std::vector<int> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    inverse[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  return inverse;
}

}  // namespace

Result<Layout> parse_layout(const Operator& op, std::string_view attribute, std::string_view text,
                            std::string_view letters) {
  const auto refuse = [&] {
    return op.attributes.refuse_support(attribute, " is ", quoted(text),
                                        ", supported are the dimensions ", letters,
                                        " in any order, and blocks of them at the end");
  };
  Layout layout;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= 'A' && text[i] <= 'Z' && layout.blocks.empty()) {
      layout.letters += text[i++];
      continue;
    }
    std::int64_t size = 0;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9' && size < 1024)
      size = 10 * size + (text[i++] - '0');
    if (size < 1 || size > 1024 || i == text.size() || text[i] < 'a' || text[i] > 'z')
      return refuse();
    layout.blocks.push_back({text[i++], size});
  }
  std::string sorted = layout.letters, expected(letters);
  std::ranges::sort(sorted);
  std::ranges::sort(expected);
  if (sorted != expected || layout.blocks.size() + letters.size() > DNNL_MAX_NDIMS) return refuse();
  for (const Layout::Block& block : layout.blocks) {
    if (letters.find(static_cast<char>(std::toupper(block.letter))) == letters.npos)
      return refuse();
  }
  return layout;
}

Result<Dims> ordered_dims(const Operator& op, const Dims& shape, const Layout& layout,
                          std::string_view letters) {
  if (shape.size() != layout.letters.size() + layout.blocks.size()) {
    return op.refuse(": a tensor of shape ", numbers_text(shape), " has the layout ",
                     layout.letters, " with ", layout.blocks.size(), " blocks, which has ",
                     layout.letters.size() + layout.blocks.size(), " dimensions");
  }
  Dims dims(letters.size());
  for (std::size_t i = 0; i < layout.letters.size(); ++i)
    dims[letters.find(layout.letters[i])] = shape[i];
  for (std::size_t i = 0; i < layout.blocks.size(); ++i) {
    const Layout::Block& block = layout.blocks[i];
    if (shape[layout.letters.size() + i] != block.size) {
      return op.refuse(": a tensor of shape ", numbers_text(shape), " has a block of ",
                       shape[layout.letters.size() + i], ", its layout has ", block.size);
    }
    std::int64_t& extent = dims[letters.find(static_cast<char>(std::toupper(block.letter)))];
    if (__builtin_mul_overflow(extent, block.size, &extent)) {
      return op.refuse(": a tensor of shape ", numbers_text(shape), " is too large");
    }
  }
  return dims;
}

Result<View> in_order(const Operator& op, const View& view, const Layout& layout,
                      std::string_view letters, const Dims& extents) {
  GANTRY_TRY(const Dims dims, ordered_dims(op, view.dims(), layout, letters));
  if (layout.blocks.empty()) {
    std::vector<int> axes;
    for (const char letter : layout.letters) axes.push_back(static_cast<int>(letters.find(letter)));
    return view.with(view.desc.permute_axes(axes));
  }
  Dims used = dims;
  for (std::size_t i = 0; i < extents.size(); ++i) used[i] = std::min(used[i], extents[i]);
  GANTRY_TRY(const View whole, op.builder.plain(view));
  const Desc named = named_desc(layout, letters, used, view.type());
  if (!named.is_zero() && blocking_of(named).padded == dims) return whole.with(named);
  const SplitDims split = split_dims(layout, letters, view.dims());
  GANTRY_TRY(const View copy,
             op.builder.plain(whole.with(whole.desc.permute_axes(inverse(split.axes)))));
  return copy.with(Desc(used, view.type(), blocking_of(plain_desc(dims, view.type())).strides));
}

Result<View> in_graph_order(const Operator& op, const View& view, const Layout& layout,
                            std::string_view letters, const Dims& shape) {
  if (layout.blocks.empty()) {
    std::vector<int> axes(letters.size());
    for (std::size_t i = 0; i < letters.size(); ++i)
      axes[i] = static_cast<int>(layout.letters.find(letters[i]));
    return view.with(view.desc.permute_axes(axes));
  }
  const Desc named = named_desc(layout, letters, view.dims(), view.type());
  if (!named.is_zero() && blocking_of(named).padded == view.dims()) {
    GANTRY_TRY(const View made, op.builder.in_layout(view, named));
    return made.with(plain_desc(shape, view.type()));
  }
  const SplitDims split = split_dims(layout, letters, shape);
  GANTRY_TRY(const View copy, op.builder.plain(view));
  return op.builder.plain(copy.with(plain_desc(split.dims, view.type()).permute_axes(split.axes)));
}

}  // namespace gantry::dnnl_plugin
