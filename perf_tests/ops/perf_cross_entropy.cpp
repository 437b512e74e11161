// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/core/runtime.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>

#include <array>

namespace portops::perf {
namespace {

/// The extents of logits, the axis of the classes, and whether labels are soft.
struct Shape {
  Extents logits;
  int axis;
  bool soft = false;

  std::int64_t classes() const { return logits[axis]; }
  Extents rows() const {
    Extents rows = Extents::of_rank(logits.rank() - 1);
    for (int k = 0; k < rows.rank(); ++k) rows[k] = logits[k < axis ? k : k + 1];
    return rows;
  }
  CrossEntropyWithSoftmaxParams params() const { return {.soft_label = soft, .axis = axis}; }
};

std::string name_of_case(const std::string& op, ElementType type, const Shape& shape) {
  return op + "/" + std::string(name_of(type)) + "/" + text(shape.logits) + "/axis:" + std::to_string(shape.axis) +
         (shape.soft ? "/soft" : "");
}

/// The logits are read, soft labels too, and the gradient is written.
std::int64_t bytes_of(ElementType type, const Shape& shape, bool gradient) {
  return static_cast<std::int64_t>(size_of(type)) * shape.logits.product() * (1 + shape.soft + gradient);
}

/// Every eighth row is ignored.
Tensor labels(const Context& ctx, ElementType type, const Shape& shape) {
  if (shape.soft) return random_tensor(ctx, type, shape.logits);
  const Tensor host(ElementType::i64, shape.rows());
  for (std::int64_t i = 0; i < host.ref().size(); ++i) {
    host.data<std::int64_t>()[i] = i % 8 == 5 ? -100 : i * 7919 % shape.classes();
  }
  Tensor label(ElementType::i64, shape.rows(), default_memory_space(ctx.backend()));
  copy(ctx, host, label);
  ctx.fence();
  return label;
}

struct Tensors {
  Tensors(const Context& ctx, ElementType type, const Shape& shape)
      : logits(random_tensor(ctx, type, shape.logits)),
        label(labels(ctx, type, shape)),
        loss(type, {}, logits.ref().space()),
        log_sum_exp(ElementType::f64, shape.rows(), logits.ref().space()),
        count(ElementType::i64, {}, logits.ref().space()) {}

  Tensor logits, label, loss, log_sum_exp, count;
};

Case forward(ElementType type, const Shape& shape) {
  return {name_of_case("cross_entropy_with_softmax", type, shape), bytes_of(type, shape, false),
          [=](const Context& ctx) -> Call {
            const Tensors at(ctx, type, shape);
            return [=] {
              cross_entropy_with_softmax(ctx, at.logits, at.label, at.loss, at.log_sum_exp, at.count, shape.params());
            };
          }};
}

Case gradient(ElementType type, const Shape& shape) {
  return {name_of_case("cross_entropy_with_softmax_grad", type, shape), bytes_of(type, shape, true),
          [=](const Context& ctx) -> Call {
            const Tensors at(ctx, type, shape);
            const Tensor logits_grad(type, shape.logits, at.logits.ref().space());
            cross_entropy_with_softmax(ctx, at.logits, at.label, at.loss, at.log_sum_exp, at.count, shape.params());
            return [=] {
              cross_entropy_with_softmax_grad(ctx, at.logits, at.label, at.log_sum_exp, at.count, at.loss, logits_grad,
                                              shape.params());
            };
          }};
}

/// cross_entropy_with_softmax and its gradient: vocabularies, of odd size too, classes of images and of their pixels,
/// soft labels.
void register_cases(Backend backend) {
  const std::array shapes{Shape{{4096, 32000}, 1},      Shape{{65536, 1000}, 1}, Shape{{8192, 50257}, 1},
                          Shape{{16, 21, 512, 512}, 1}, Shape{{1 << 20, 10}, 1}, Shape{{4096, 32000}, 1, true},
                          Shape{{65536, 1000}, 1, true}};
  register_host_time(backend, forward(ElementType::f32, {{4, 64}, 1}));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const Shape& shape : shapes) {
      register_case(backend, forward(type, shape));
      register_case(backend, gradient(type, shape));
    }
  }
}

const Benchmarks benchmarks("cross_entropy_with_softmax", register_cases);

}  // namespace
}  // namespace portops::perf
