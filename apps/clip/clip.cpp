// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clip.hpp"

#include "common/element_cast.hpp"
#include "common/slice.hpp"
#include "common/timing.hpp"
#include "common/transfer.hpp"

#include <portops/ops/p_norm.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>

namespace portops::apps {

namespace {

std::int64_t bytes_of(ElementType type, std::int64_t elements) {
  return elements * static_cast<std::int64_t>(size_of(type));
}

// --- gradients ---------------------------------------------------------------------------------------------

/// Where the last part ends.
std::int64_t end_of(const std::vector<Gradients::Part>& parts) {
  return parts.empty() ? 0 : parts.back().start + parts.back().extents.product();
}

void append(std::vector<Gradients::Part>& parts, const std::string& name, const Extents& extents) {
  parts.push_back({name, extents, end_of(parts)});
}

/// Copies x, of any strides, to `out`, one element behind the other with the last axis fastest.
template <class T>
void copy_row_major(const TensorRef& x, T* out) {
  const T* element = static_cast<const T*>(x.data());
  Extents index = Extents::of_rank(x.rank());
  const std::int64_t size = x.size();
  for (std::int64_t i = 0; i < size; ++i) {
    out[i] = *element;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      element += x.stride(axis);
      if (++index[axis] < x.extent(axis)) break;
      element -= x.stride(axis) * x.extent(axis);
      index[axis] = 0;
    }
  }
}

// --- clipping ----------------------------------------------------------------------------------------------

/// The places of the scalars that clipping needs, in a tensor of three elements. The first two are a pair.
enum Scalar : std::int64_t { norm, max_norm, bound };

void clip(const Context& ctx, const TensorRef& gradients, const Tensor& scalars, double porder) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const TensorRef pair = slice(scalars, norm, {2});
  p_norm(ctx, gradients, slice(scalars, norm, {}), {.porder = porder, .asvector = true});
  p_norm(ctx, pair, slice(scalars, bound, {}), {.porder = infinity, .asvector = true});
  p_norm_grad(ctx, gradients, slice(scalars, bound, {}), slice(scalars, max_norm, {}), gradients,
              {.porder = 2.0, .epsilon = 0.0, .asvector = true});
}

/// The norm of each part and, the last one, of all together.
std::vector<double> norms_of(const Context& ctx, const Gradients& gradients, double porder) {
  const TensorRef flat = gradients.flat;
  const PNormParams params{.porder = porder, .asvector = true};
  const auto count = static_cast<std::int64_t>(gradients.parts.size());
  const Tensor norms(flat.type(), {count + 1}, flat.space());
  std::int64_t i = 0;
  for (const Gradients::Part& part : gradients.parts) p_norm(ctx, gradients.ref(part), slice(norms, i++, {}), params);
  p_norm(ctx, flat, slice(norms, count, {}), params);
  return values_of(ctx, norms);
}

}  // namespace

TensorRef Gradients::ref(const Part& part) const { return slice(flat, part.start, part.extents); }

Gradients read_gradients(std::vector<NpyFile>& files, ElementType type) {
  Gradients gradients;
  for (const NpyFile& file : files) append(gradients.parts, file.name(), file.extents());
  gradients.flat = Tensor(type, {end_of(gradients.parts)});
  for (std::size_t i = 0; i < files.size(); ++i) {
    const NpyTensor x = files[i].read(type);
    with_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      copy_row_major(x.ref, gradients.flat.data<T>() + gradients.parts[i].start);
    });
  }
  return gradients;
}

void write_gradients(const Gradients& gradients, std::deque<OutputFile>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) write_npy(files[i], gradients.ref(gradients.parts[i]));
}

Gradients example_gradients(ElementType type) {
  constexpr std::int64_t words = 24000;
  constexpr std::int64_t width = 512;
  Gradients gradients;
  append(gradients.parts, "embedding", {words, width});
  for (const char* name : {"layers.0.", "layers.1.", "layers.2.", "layers.3."}) {
    const std::string layer = name;
    append(gradients.parts, layer + "norm_1", {width});
    append(gradients.parts, layer + "attention.qkv", {3 * width, width});
    append(gradients.parts, layer + "attention.out", {width, width});
    append(gradients.parts, layer + "norm_2", {width});
    append(gradients.parts, layer + "mlp.up", {4 * width, width});
    append(gradients.parts, layer + "mlp.down", {width, 4 * width});
  }
  append(gradients.parts, "norm", {width});

  gradients.flat = Tensor(type, {end_of(gradients.parts)});
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const Gradients::Part& part : gradients.parts) {
    const float scale = part.name == "layers.2.mlp.up" ? 0.01f : 0.001f;
    with_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::generate_n(gradients.flat.data<T>() + part.start, part.extents.product(),
                      [&] { return element_cast<T>(scale * normal(random)); });
    });
  }
  return gradients;
}

ClipResult clip_gradients(const Context& ctx, const Gradients& gradients, const ClipOptions& options) {
  const TensorRef flat = gradients.flat;
  Tensor scalars(flat.type(), {3});
  with_type(flat.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(scalars.data<T>(), 3, element_cast<T>(options.max_norm));
  });
  scalars = to_backend(ctx, scalars);
  const Tensor copied(flat.type(), flat.extents(), flat.space());
  copy(ctx, flat, copied);

  ClipResult result;
  result.norms_before = norms_of(ctx, gradients, options.porder);
  clip(ctx, flat, scalars, options.porder);
  result.norms_after = norms_of(ctx, gradients, options.porder);
  const std::vector<double> values = values_of(ctx, scalars);
  result.factor = values[max_norm] / values[bound];
  result.bytes_per_call = 3 * bytes_of(flat.type(), flat.size());

  // From the second call on what is clipped is clipped already; it takes the same reading and writing.
  result.seconds_per_call = seconds_per_call(ctx, options.repeats, [&] { clip(ctx, copied, scalars, options.porder); });
  return result;
}

}  // namespace portops::apps
