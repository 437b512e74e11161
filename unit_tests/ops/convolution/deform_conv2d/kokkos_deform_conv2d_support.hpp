// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "deform_conv2d_reference.hpp"
#include "support/kokkos_support.hpp"

// What the tests of deform_conv2d on Views share.

namespace portops::test {

/// A tensor in a View of four axes with a border around it, which must not change.
template <class Space, class Layout>
class BorderedView {
 public:
  BorderedView() = default;
  BorderedView(const std::string& name, const Extents& extents, int border)
      : extents_(extents),
        border_(border),
        view_(name, along(0) + 2 * size(border), along(1) + 2 * size(border), along(2) + 2 * size(border),
              along(3) + 2 * size(border)) {
    Kokkos::deep_copy(view_, outside);
  }

  /// The elements in the order of their indices, last axis fastest.
  void fill(const std::vector<double>& values) {
    const auto host = Kokkos::create_mirror(Kokkos::HostSpace(), view_);
    Kokkos::deep_copy(host, outside);
    std::size_t next = 0;
    for_each([&](auto... at) { host(at...) = static_cast<float>(values[next++]); });
    Kokkos::deep_copy(view_, host);
    Kokkos::fence();
  }

  std::vector<float> values() const {
    const auto host = Kokkos::create_mirror(Kokkos::HostSpace(), view_);
    Kokkos::deep_copy(host, view_);
    std::vector<float> values;
    for_each([&](auto... at) { values.push_back(host(at...)); });
    const auto left = std::count(host.data(), host.data() + host.span(), outside);
    EXPECT_EQ(static_cast<std::size_t>(left) + values.size(), host.span()) << view_.label() << ": its border";
    return values;
  }

  TensorRef ref() const {
    if (border_ == 0 && extents_.rank() == 4) return view_;
    const auto range = [&](int axis) { return Kokkos::pair(size(border_), size(border_) + along(axis)); };
    if (extents_.rank() == 1) return Kokkos::subview(view_, range(0), border_, border_, border_);
    return Kokkos::subview(view_, range(0), range(1), range(2), range(3));
  }

 private:
  static constexpr float outside = -99.0f;

  static std::size_t size(int number) { return static_cast<std::size_t>(number); }
  std::size_t along(int axis) const {
    return axis < extents_.rank() ? static_cast<std::size_t>(extents_[axis]) : std::size_t{1};
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::size_t b = size(border_);
    for (std::size_t i = b; i < b + along(0); ++i) {
      for (std::size_t j = b; j < b + along(1); ++j) {
        for (std::size_t k = b; k < b + along(2); ++k) {
          for (std::size_t l = b; l < b + along(3); ++l) visit(i, j, k, l);
        }
      }
    }
  }

  Extents extents_;
  int border_ = 0;
  Kokkos::View<float****, Layout, typename Space::memory_space> view_;
};

/// deform_conv2d and its gradient over Views, and what they must give.
template <class Space, class Layout = Kokkos::LayoutRight>
class ConvolutionOfViews {
 public:
  explicit ConvolutionOfViews(int border = 0) {
    shape_.images = 3;
    shape_.height = 12;
    shape_.out_channels = 8;
    shape_.padding.assign(1, 0);
    shape_.padding.insert(shape_.padding.end(), {1, 2, 1});
    shape_.groups = 2;
    shape_.deformable_groups = 2;
    shape_.im2col_step = 2;
    for (const auto* names : {&deform_conv2d_inputs, &deform_conv2d_gradients}) {
      for (const std::string& name : *names) add(name, border);
    }
    add("out", border);
    fill(0);
  }

  void fill(int salt) {
    for (const std::string& name : deform_conv2d_inputs) {
      std::vector<double>& values = inputs_[name];
      values.resize(static_cast<std::size_t>(shape_.extents(name).product()));
      ++salt;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        values[i] = name == "offset" ? fractional_offset<float>(index + salt) : pattern(index, salt);
      }
      views_.at(name).fill(values);
    }
    forget_results();
  }

  void forget_results() {
    for (auto& [name, view] : views_) {
      const auto size = static_cast<std::size_t>(shape_.extents(name).product());
      if (inputs_.find(name) == inputs_.end()) view.fill(std::vector<double>(size, -77.0));
    }
  }

  TensorRef ref(const std::string& name) const { return views_.at(name).ref(); }

  DeformConv2dParams params() const {
    DeformConv2dParams params;
    params.mask = ref("mask");
    params.bias = ref("bias");
    params.padding = shape_.padding;
    params.groups = shape_.groups;
    params.deformable_groups = shape_.deformable_groups;
    params.im2col_step = shape_.im2col_step;
    return params;
  }

  void run(const Context& ctx) const {
    deform_conv2d(ctx, ref("x"), ref("offset"), ref("weight"), ref("out"), params());
  }
  void run_grad(const Context& ctx) const {
    deform_conv2d_grad(ctx, ref("x"), ref("offset"), ref("weight"), ref("out_grad"), ref("x_grad"), ref("offset_grad"),
                       ref("weight_grad"), ref("mask_grad"), ref("bias_grad"), params());
  }
  void call(const Context& ctx) const {
    run(ctx);
    run_grad(ctx);
  }

  std::size_t workspace(const Context& ctx) const {
    return std::max(deform_conv2d_workspace(ctx, ref("x"), ref("offset"), ref("weight"), ref("out"), params()),
                    deform_conv2d_grad_workspace(ctx, ref("x"), ref("offset"), ref("weight"), ref("out_grad"),
                                                 ref("x_grad"), ref("offset_grad"), ref("weight_grad"),
                                                 ref("mask_grad"), ref("bias_grad"), params()));
  }

  /// Of what was filled in last.
  void expect_right(int /*salt*/ = 0) const {
    for (const auto& [name, sums] : deform_conv2d_reference(shape_, inputs_)) {
      const std::vector<float> found = views_.at(name).values();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto& [value, magnitude] = sums[i];
        ASSERT_NEAR(found[i], value, 2e-6 * magnitude + rounding<float>() * std::abs(value)) << name << ", " << i;
      }
    }
  }

  /// Everything that the calls write.
  std::vector<float> results() const {
    std::vector<float> all;
    for (const auto& [name, view] : views_) {
      if (inputs_.find(name) != inputs_.end()) continue;
      const std::vector<float> values = view.values();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  void add(const std::string& name, int border) {
    views_[name] = BorderedView<Space, Layout>(name, shape_.extents(name), border);
  }

  DeformConv2dCase shape_;
  std::map<std::string, BorderedView<Space, Layout>> views_;
  DeformConv2dValues inputs_;
};

}  // namespace portops::test
