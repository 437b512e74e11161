// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/core/runtime.hpp>
#include <portops/ops/adam.hpp>
#include <portops/ops/count_nonfinite.hpp>
#include <portops/ops/momentum.hpp>
#include <portops/ops/sgd.hpp>

#include <memory>
#include <numeric>

namespace portops::perf {
namespace {

/// The parameters of a model.
struct Model {
  std::string name;
  std::vector<std::int64_t> sizes;

  std::int64_t elements() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); }
};

Model model(const std::string& name, std::int64_t large, std::int64_t of_large, std::int64_t small,
            std::int64_t of_small) {
  Model made{name, std::vector<std::int64_t>(static_cast<std::size_t>(large), of_large)};
  made.sizes.insert(made.sizes.end(), static_cast<std::size_t>(small), of_small);
  return made;
}

/// Lists of the model's tensors, which it keeps.
class Lists {
 public:
  Lists(const Context& ctx, const Model& model) : ctx_(ctx), sizes_(model.sizes) {}

  std::vector<TensorRef> add(ElementType type) {
    std::vector<TensorRef> list;
    for (const std::int64_t size : sizes_) {
      memory_.push_back(random_tensor(ctx_, type, {size}));
      list.emplace_back(memory_.back());
    }
    return list;
  }

 private:
  Context ctx_;
  std::vector<std::int64_t> sizes_;
  std::vector<Tensor> memory_;
};

/// A step in place. `states` are lists in the type of sums; 16-bit parameters have master parameters.
Case step_case(const std::string& op, ElementType type, const Model& of, int states) {
  const bool has_master = size_of(type) == 2;
  const auto element = static_cast<std::int64_t>(size_of(type));
  const std::int64_t sums = type == ElementType::f64 ? 8 : 4;
  const std::int64_t bytes = has_master ? 2 * element + 2 * sums : 3 * element;
  return {op + "/" + std::string(name_of(type)) + "/" + of.name, of.elements() * (bytes + 2 * sums * states),
          [=](const Context& ctx) -> Call {
            const auto lists = std::make_shared<Lists>(ctx, of);
            const ElementType wide = type == ElementType::f64 ? type : ElementType::f32;
            const auto param = lists->add(type), grad = lists->add(type);
            const auto master = has_master ? lists->add(wide) : std::vector<TensorRef>();
            const auto first = states > 0 ? lists->add(wide) : master, second = states > 1 ? lists->add(wide) : master;
            return [=] {
              static_cast<void>(lists);
              if (op == "sgd") return sgd(ctx, param, grad, 1e-3, param, master, {.master_param = master});
              if (op == "momentum") {
                return momentum(ctx, param, grad, first, 1e-3, param, first, master, {.master_param = master});
              }
              adam(ctx, param, grad, first, second, 1e-3, 0.729, 0.997, param, first, second, {}, {}, master,
                   {.master_param = master});
            };
          }};
}

Case count_case(ElementType type, const Model& of) {
  return {"count_nonfinite/" + std::string(name_of(type)) + "/" + of.name,
          of.elements() * static_cast<std::int64_t>(size_of(type)), [=](const Context& ctx) -> Call {
            const auto lists = std::make_shared<Lists>(ctx, of);
            const auto x = lists->add(type);
            const auto count =
                std::make_shared<const Tensor>(ElementType::i64, Extents(), default_memory_space(ctx.backend()));
            return [=] {
              static_cast<void>(lists);
              count_nonfinite(ctx, x, *count);
            };
          }};
}

/// sgd, momentum, adam and count_nonfinite on the parameters of models: a convolutional network of 26 tensors and 23.8
/// million numbers, one of many small tensors, and one tensor alone.
void register_cases(Backend backend) {
  const std::vector<Model> models{model("26_tensors_23.8M", 10, 512 * 512 * 9, 16, 12500),
                                  model("300_tensors_1.2M", 100, 12000, 200, 101),
                                  model("1_tensor_8M", 1, 8000001, 0, 0)};
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::f64}) {
    for (const Model& of : models) {
      register_case(backend, step_case("sgd", type, of, 0));
      register_case(backend, step_case("momentum", type, of, 1));
      register_case(backend, step_case("adam", type, of, 2));
      register_case(backend, count_case(type, of));
    }
  }
  register_host_time(backend, step_case("adam", ElementType::f32, models[0], 2));
  register_host_time(backend, step_case("adam", ElementType::f32, models[1], 2));
}

const Benchmarks benchmarks("optimizers", register_cases);

}  // namespace
}  // namespace portops::perf
