// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <algorithm>
#include <cctype>

namespace gantry::dnnl_plugin {
namespace {

// Returns a layout with blocks.
Desc blocked_desc(const Layout& layout, std::string_view letters, const Dims& dims,
                  ::dnnl::memory::data_type type) {
  dnnl_memory_desc_t desc{};
  desc.ndims = static_cast<int>(dims.size());
  desc.data_type = static_cast<dnnl_data_type_t>(type);
  desc.format_kind = dnnl_blocked;
  dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  std::int64_t stride = 1;
  std::vector<std::int64_t> outer(dims);
  for (const Layout::Block& block : layout.blocks) {
    const std::size_t axis = letters.find(static_cast<char>(std::toupper(block.letter)));
    blocking.inner_blks[blocking.inner_nblks] = block.size;
    blocking.inner_idxs[blocking.inner_nblks] = static_cast<std::int64_t>(axis);
    ++blocking.inner_nblks;
    outer[axis] /= block.size;
    stride *= block.size;
  }
  for (std::size_t i = layout.letters.size(); i-- > 0;) {
    const std::size_t axis = letters.find(layout.letters[i]);
    blocking.strides[axis] = stride;
    stride *= outer[axis];
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    desc.dims[i] = dims[i];
    desc.padded_dims[i] = dims[i];
  }
  return Desc(desc);
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
                      std::string_view letters) {
  GANTRY_TRY(const Dims dims, ordered_dims(op, view.desc.dims(), layout, letters));
  if (!layout.blocks.empty()) {
    GANTRY_TRY(const View whole, op.builder.plain(view));
    return View{blocked_desc(layout, letters, dims, view.desc.data_type()), whole.buffer};
  }
  std::vector<int> axes;
  for (const char letter : layout.letters) axes.push_back(static_cast<int>(letters.find(letter)));
  return View{view.desc.permute_axes(axes), view.buffer};
}

View cropped(const View& view, const Dims& dims) {
  dnnl_memory_desc_t desc = view.desc.data;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (desc.dims[i] > dims[i]) desc.dims[i] = dims[i];
  }
  return {Desc(desc), view.buffer};
}

Result<View> in_graph_order(const Operator& op, const View& view, const Layout& layout,
                            std::string_view letters, const Dims& shape) {
  if (!layout.blocks.empty()) {
    const Desc blocked = blocked_desc(layout, letters, view.desc.dims(), view.desc.data_type());
    GANTRY_TRY(const View made, op.builder.in_layout(view, blocked));
    return View{plain_desc(shape, view.desc.data_type()), made.buffer};
  }
  std::vector<int> axes(letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i)
    axes[i] = static_cast<int>(layout.letters.find(letters[i]));
  return View{view.desc.permute_axes(axes), view.buffer};
}

}  // namespace gantry::dnnl_plugin
