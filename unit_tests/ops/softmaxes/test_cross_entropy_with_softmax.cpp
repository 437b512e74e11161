// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cross_entropy_reference.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

#include <portops/core/registry.hpp>

namespace portops::test {
namespace {

constexpr const char* reductions[] = {"mean", "sum", "none"};

class CrossEntropyWithSoftmaxTest : public OnEveryBackend {
 protected:
  /// The operator and its gradient, of logits(i) and, of the classes' number, label(row), or soft_label(i).
  template <class T, class Logit, class Label>
  void check(CrossEntropyCase call, const Logit& logit, const Label& label, Layout layout = Layout::contiguous,
             Layout row_layout = Layout::contiguous) {
    SCOPED_TRACE(call.extents.to_string() + " axis " + std::to_string(call.params.axis) + " " + call.params.reduction +
                 (call.params.soft_label ? " soft" : "") + " layouts " + std::to_string(static_cast<int>(layout)) +
                 ", " + std::to_string(static_cast<int>(row_layout)));
    CrossEntropyTensors<T> at(ctx, call, layout, row_layout);
    at.logits.fill(logit);
    call.logits = values_of(at.logits);
    if (call.params.soft_label) {
      at.soft_label.fill(label);
      call.soft_labels = values_of(at.soft_label);
    } else {
      at.label.fill(label);
      for (const double number : values_of(at.label)) call.classes.push_back(static_cast<std::int64_t>(number));
    }
    cross_entropy_with_softmax(ctx, at.logits, at.labels(), at.loss, at.log_sum_exp, at.count, call.params);
    const ExpectedLosses rows = reference_losses<T>(call);
    expect_near(at.loss, reference_loss<T>(call, rows), "loss");
    Expected exponents{rows.log_sum_exp, rows.log_sum_exp};
    for (double& error : exponents.error) {
      error = (std::is_same_v<T, double> ? 1e-13 : 4e-6) + 2e-16 * std::abs(error);
    }
    expect_near(at.log_sum_exp, exponents, "log_sum_exp");
    at.count.download();
    EXPECT_EQ(at.count.element(0), rows.count);

    cross_entropy_with_softmax_grad(ctx, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad, at.logits_grad,
                                    call.params);
    expect_near(at.logits_grad, reference_grad<T>(call, rows, values_of(at.loss_grad)), "logits_grad");
  }

  /// Of logits by chance; some rows are ignored.
  template <class T>
  void check(const Extents& extents, std::int64_t axis, const std::string& reduction = "mean", bool soft = false,
             Layout layout = Layout::contiguous, Layout row_layout = Layout::contiguous) {
    const CrossEntropyCase call{extents, {soft, -100, axis, reduction}, {}, {}, {}};
    const std::int64_t classes = extents[static_cast<int>((axis + extents.rank()) % extents.rank())];
    Random random(1);
    const auto logit = [&](std::int64_t) { return random.uniform(-9.0, 9.0); };
    const auto label = [&](std::int64_t i) -> double {
      if (soft) return i % 5 == 0 ? 0.0 : 2.0 * random.uniform(0.0, 1.0) / static_cast<double>(classes);
      return static_cast<double>(i % 7 == 3 ? -100 : i * 7919 % classes);
    };
    check<T>(call, logit, label, layout, row_layout);
  }
};

PORTOPS_ON_EVERY_BACKEND(CrossEntropyWithSoftmaxTest);

// Reductions, and axes counted from the front or from the end, take turns: each meets each shape, each layout and
// either kind of label.
TEST_P(CrossEntropyWithSoftmaxTest, equals_the_reference_for_all_axes_layouts_and_reductions) {
  for_each_type([&]<class T>() {
    int turn = 0;
    for (const Layout layout : all_layouts) {
      for (const Layout other : all_layouts) {
        for (const bool soft : {false, true}) {
          const auto check_next = [&](const Extents& extents, std::int64_t axis) {
            const bool from_the_end = turn / 3 % 2 == 1;
            check<T>(extents, from_the_end ? axis - extents.rank() : axis, reductions[turn % 3], soft, layout, other);
            ++turn;
          };
          for (std::int64_t axis = 0; axis < 3; ++axis) check_next({3, 14, 5}, axis);
          check_next({2, 3, 4, 5}, 1);
          check_next({6, 130}, 1);
          check_next({130, 6}, 0);
          ++turn;  // so that no shape keeps its reduction
        }
        if (HasFailure()) return;
      }
    }
  });
}

// Rows of many lengths go the ways of softmax: kept or read again, packs of every width, cut into parts, side by side.
// Many rows are added up in more than one part.
TEST_P(CrossEntropyWithSoftmaxTest, equals_the_reference_for_rows_of_many_lengths) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const bool soft : {false, true}) {
      for (const std::int64_t length : {1, 2, 3, 4, 7, 8, 31, 33, 64, 65, 250, 256, 1000, 1001, 4096, 9000, 33000}) {
        check<T>({3, length}, 1, "mean", soft);
        check<T>({length, 3}, 0, "sum", soft);
        if (length < 300) check<T>({70, length, 6}, 1, "none", soft);
        if (HasFailure()) return;
      }
      check<T>({270, 5000}, 1, "mean", soft);
      if (GetParam() == Backend::cuda) check<T>({270, 20001}, 1, "sum", soft);
      check<T>({2, 70000, 2}, 1, "none", soft);
      check<T>({1, 300000}, 1, "mean", soft);
      check<T>({40000, 5}, 1, "mean", soft);
      check<T>({3, 30000}, 0, "mean", soft);
      check<T>({9}, 0, "mean", soft);
    }
  });
}

TEST_P(CrossEntropyWithSoftmaxTest, stands_logits_of_every_size) {
  for_each_type([&]<class T>() {
    const double most = std::is_same_v<T, f16> ? 60000.0 : std::is_same_v<T, double> ? 1e300 : 1e38;
    for (const bool soft : {false, true}) {
      for (const Extents& extents : {Extents{4, 50}, Extents{4, 9000}, Extents{50, 4}}) {
        const CrossEntropyCase call{extents, {soft, -100, 1, "none"}, {}, {}, {}};
        const std::int64_t classes = extents[1];
        // A label where the logit is largest, so that no loss is too large for the type.
        const auto at_largest = [&](std::int64_t i) -> double {
          if (soft) return i % classes % 3 == 0 ? 3.0 / static_cast<double>(classes) : 0.0;
          return static_cast<double>(i * 3 % classes / 3 * 3);
        };
        const auto sizes = [&](std::int64_t i) {
          const std::int64_t c = i % classes;
          return c % 3 == 0 ? most : c % 3 == 1 ? -most : 0.9 * most;
        };
        check<T>(call, sizes, at_largest);
        const auto any = [&](std::int64_t i) -> double {
          return soft ? 1.0 / static_cast<double>(classes) : static_cast<double>(i % classes);
        };
        // Large ones that are close together; down to exponentials that are subnormal; all alike; 0 and subnormal.
        check<T>(call, [](std::int64_t i) { return 1000.0 - static_cast<double>(i % 120); }, any);
        check<T>(call, [](std::int64_t i) { return 10240.0 + 8.0 * static_cast<double>(i % 3); }, any);
        check<T>(call, [](std::int64_t) { return -7.25; }, any);
        check<T>(call, [](std::int64_t i) { return i % 2 == 0 ? 0.0 : 6e-8; }, any);
      }
    }
  });
}

// A hot class among many cold ones: what the sum is off shows in the loss undiminished.
TEST_P(CrossEntropyWithSoftmaxTest, keeps_its_bound_over_constant_and_one_hot_rows) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const double below : {0.1, 5.3, 12.6, 20.3}) {
      for (const Extents& extents : {Extents{1, 300001}, Extents{32001, 2}}) {
        const int axis = extents[1] > 2 ? 1 : 0;
        for (const bool soft : {false, true}) {
          const CrossEntropyCase call{extents, {soft, -100, axis, "none"}, {}, {}, {}};
          const auto classes = extents[axis];
          const auto place = [&](std::int64_t i) { return axis == 1 ? i % classes : i / extents[1]; };
          const auto label = [&](std::int64_t i) -> double {
            if (soft) return place(i) % 100 == 0 ? 100.0 / static_cast<double>(classes) : 0.0;
            return i % 2 == 0 ? 0.0 : 1.0;
          };
          check<T>(call, [&](std::int64_t i) { return place(i) == 0 ? 0.7 : 0.7 - below; }, label);
        }
      }
    }
  });
}

TEST_P(CrossEntropyWithSoftmaxTest, follows_the_formula_for_nan_and_inf) {
  for_each_type([&]<class T>() {
    for (const std::int64_t length : {5, 40, 600, 9000, 70000}) {
      if (length > unless_sanitized(70000, 9000)) continue;
      for (const bool down : {false, true}) {
        for (const bool soft : {false, true}) {
          // A NaN; an Inf; −Inf at the label, beside it; nothing but −Inf; what is ignored; nothing of all that.
          const std::int64_t rows = 7;
          const Extents extents = down ? Extents{length, rows} : Extents{rows, length};
          const CrossEntropyWithSoftmaxParams params{soft, 7, down ? 0 : 1, "none"};
          const CrossEntropyCase call{extents, params, {}, {}, {}};
          CrossEntropyTensors<T> at(ctx, call, Layout::contiguous, Layout::contiguous);
          const auto row = [&](std::int64_t i) { return down ? i % rows : i / length; };
          const auto place = [&](std::int64_t i) { return down ? i / rows : i % length; };
          at.logits.fill([&](std::int64_t i) {
            const std::int64_t r = row(i);
            if (r == 4) return -inf;
            if (place(i) != length - 2) return static_cast<double>(i % 7);
            return r == 0 || r == 5 ? nan : r == 1 ? inf : r == 2 || r == 3 ? -inf : 1.0;
          });
          // The last row but one is ignored, or has labels of 0.
          const auto hot = [&](std::int64_t r) { return r == 2 ? length - 2 : length - 1; };
          at.label.fill([&](std::int64_t r) { return static_cast<double>(r == 5 ? 7 : hot(r)); });
          if (soft) at.soft_label.fill([&](std::int64_t i) { return place(i) == hot(row(i)) ? 1.0 : 0.0; });
          cross_entropy_with_softmax(ctx, at.logits, at.labels(), at.loss, at.log_sum_exp, at.count, params);
          at.loss.download();
          at.log_sum_exp.download();
          const std::string what = extents.to_string() + (soft ? " soft" : "");
          for (const std::int64_t r : {0, 1, 4}) EXPECT_TRUE(std::isnan(at.loss[r])) << what << r;
          EXPECT_EQ(at.loss[2], inf) << what;
          EXPECT_TRUE(std::isfinite(at.loss[3]) && std::isfinite(at.loss[6])) << what;
          if (!soft) {
            EXPECT_EQ(at.loss[5], 0.0) << what;
          }
          EXPECT_EQ(at.log_sum_exp[4], -inf) << what;
          for (const std::int64_t r : {0, 1, 5}) EXPECT_TRUE(std::isnan(at.log_sum_exp[r])) << what << r;
          cross_entropy_with_softmax_grad(ctx, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad,
                                          at.logits_grad, params);
          at.logits_grad.download();
          for (std::int64_t i = 0; i < at.logits_grad.size(); ++i) {
            const std::int64_t r = row(i);
            const bool is_nan = r == 0 || r == 1 || r == 4 || r == 5;
            ASSERT_EQ(std::isnan(at.logits_grad[i]), is_nan) << what << i;
            const bool is_cold = (r == 2 || r == 3) && place(i) == length - 2;
            if (is_cold) {
              ASSERT_EQ(at.logits_grad[i], r == 2 ? -at.loss_grad[2] : 0.0) << what << i;
            }
          }
        }
      }
    }
  });
}

TEST_P(CrossEntropyWithSoftmaxTest, a_mean_over_nothing_is_0_and_so_is_its_gradient) {
  for_each_type([&]<class T>() {
    for (const std::int64_t rows : {0, 4}) {
      for (const char* const reduction : {"mean", "sum"}) {
        const CrossEntropyCase call{{rows, 5}, {false, 2, 1, reduction}, {}, {}, {}};
        CrossEntropyTensors<T> at(ctx, call, Layout::contiguous, Layout::contiguous);
        at.logits.fill_randomly(1);
        at.label.fill([](std::int64_t) { return 2; });
        cross_entropy_with_softmax(ctx, at.logits, at.label, at.loss, at.log_sum_exp, at.count, call.params);
        at.loss.download();
        at.count.download();
        EXPECT_EQ(at.loss[0], 0.0);
        EXPECT_EQ(at.count.element(0), 0);
        cross_entropy_with_softmax_grad(ctx, at.logits, at.label, at.log_sum_exp, at.count, at.loss_grad,
                                        at.logits_grad, call.params);
        at.logits_grad.download();
        for (std::int64_t i = 0; i < at.logits_grad.size(); ++i) EXPECT_EQ(at.logits_grad[i], 0.0);
      }
    }
    const CrossEntropyCase none{{0, 5}, {true, -100, 1, "none"}, {}, {}, {}};
    CrossEntropyTensors<T> at(ctx, none, Layout::contiguous, Layout::contiguous);
    const TensorRef label = TestTensor<T>(ctx, {0, 5});
    EXPECT_NO_THROW(cross_entropy_with_softmax(ctx, at.logits, label, at.loss, {}, {}, none.params));
  });
}

TEST_P(CrossEntropyWithSoftmaxTest, takes_labels_that_keep_the_axis_and_logits_of_one_row_or_one_class) {
  TestTensor<float> logits(ctx, {2, 3, 4}), loss(ctx, {2, 4}), kept_loss(ctx, {2, 4});
  TestTensor<std::int64_t> label(ctx, {2, 4}), kept(ctx, {2, 1, 4}, Layout::negative);
  logits.fill_randomly(1);
  label.fill([](std::int64_t i) { return i % 3; });
  kept.fill([](std::int64_t i) { return i % 3; });
  const CrossEntropyWithSoftmaxParams params{.axis = 1, .reduction = "none"};
  cross_entropy_with_softmax(ctx, logits, label, loss, {}, {}, params);
  cross_entropy_with_softmax(ctx, logits, kept, kept_loss, {}, {}, params);
  loss.download();
  kept_loss.download();
  // In another layout, and so perhaps added in another order.
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_NEAR(kept_loss[i], loss[i], 1e-6);

  for (const Extents& extents : {Extents{}, Extents{1}, Extents{3, 1}}) {
    const bool several = extents.rank() == 2;
    TestTensor<float> one(ctx, extents), mean(ctx, {}), grad(ctx, extents), loss_grad(ctx, {});
    TestTensor<std::int64_t> its(ctx, several ? Extents{3} : Extents{}), count(ctx, {});
    TestTensor<double> exponents(ctx, several ? Extents{3} : Extents{});
    one.fill([](std::int64_t i) { return 3.5 + static_cast<double>(i); });
    its.fill([](std::int64_t) { return 0; });
    loss_grad.fill([](std::int64_t) { return 1.0; });
    cross_entropy_with_softmax(ctx, one, its, mean, exponents, count);
    cross_entropy_with_softmax_grad(ctx, one, its, exponents, count, loss_grad, grad);
    mean.download();
    exponents.download();
    grad.download();
    EXPECT_EQ(mean[0], 0.0);
    EXPECT_EQ(exponents[0], 3.5);
    for (std::int64_t i = 0; i < grad.size(); ++i) EXPECT_EQ(grad[i], 0.0);
  }
}

TEST_P(CrossEntropyWithSoftmaxTest, reads_rows_that_are_misaligned_and_elements_that_stand_for_many) {
  TestTensor<float> storage(ctx, {4000}), loss(ctx, {}), grad(ctx, {40, 64}), dense(ctx, {40, 64}), copy(ctx, {40, 64});
  TestTensor<float> dense_loss(ctx, {}), loss_grad(ctx, {});
  TestTensor<double> exponents(ctx, {40});
  TestTensor<std::int64_t> label(ctx, {40}), count(ctx, {});
  storage.fill_randomly(1);
  label.fill([](std::int64_t i) { return i % 4 == 1 ? -100 : i * 5 % 40; });
  loss_grad.fill([](std::int64_t) { return 1.5; });
  for (const std::int64_t shift : {1, 2, 4}) {
    for (const Extents& strides : {Extents{67, 1}, Extents{0, 1}, Extents{1, 0}, Extents{66, 1}}) {
      const TensorRef logits(static_cast<float*>(storage.ref().data()) + shift, {40, 64}, strides,
                             storage.ref().space());
      dense.fill([&](std::int64_t i) { return storage[shift + i / 64 * strides[0] + i % 64 * strides[1]]; });
      cross_entropy_with_softmax(ctx, dense, label, dense_loss, exponents, count);
      cross_entropy_with_softmax_grad(ctx, dense, label, exponents, count, loss_grad, copy);
      cross_entropy_with_softmax(ctx, logits, label, loss, exponents, count);
      cross_entropy_with_softmax_grad(ctx, logits, label, exponents, count, loss_grad, grad);
      for (TestTensor<float>* tensor : {&loss, &dense_loss, &grad, &copy}) tensor->download();
      EXPECT_NEAR(loss[0], dense_loss[0], 1e-6);
      for (std::int64_t i = 0; i < grad.size(); ++i) ASSERT_NEAR(grad[i], copy[i], 1e-7) << i;
    }
  }
}

TEST_P(CrossEntropyWithSoftmaxTest, gradient_is_computed_in_place) {
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{5, 40}, Extents{3, 20001}, Extents{20001, 3}, Extents{2, 300000}}) {
      if (extents.product() > unless_sanitized(600000, 60003)) continue;
      for (const int axis : {0, 1}) {
        for (const bool soft : {false, true}) {
          const CrossEntropyCase call{extents, {soft, -100, axis, "sum"}, {}, {}, {}};
          CrossEntropyTensors<T> at(ctx, call, Layout::contiguous, Layout::contiguous);
          at.logits.fill_randomly(1);
          at.label.fill([&](std::int64_t i) { return i % extents[axis]; });
          if (soft) at.soft_label.fill_randomly(2, 0.0, 1.0);
          cross_entropy_with_softmax(ctx, at.logits, at.labels(), at.loss, at.log_sum_exp, at.count, call.params);
          const auto grad = [&](const TensorRef& to) {
            cross_entropy_with_softmax_grad(ctx, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad, to,
                                            call.params);
          };
          grad(at.logits_grad);
          grad(at.logits);
          at.logits_grad.download();
          expect_same_bits(at.logits, at.logits_grad, extents.to_string());
        }
      }
    }
  });
}

TEST_P(CrossEntropyWithSoftmaxTest, gives_the_same_bits_on_every_run_and_in_both_modes) {
  skip_where_sanitized();
  for (const Extents& extents : {Extents{3, 150001}, Extents{150001, 3}, Extents{64, 200}}) {
    for (const bool soft : {false, true}) {
      const CrossEntropyCase call{extents, {soft, -100, 1, "mean"}, {}, {}, {}};
      CrossEntropyTensors<float> at(ctx, call, Layout::contiguous, Layout::contiguous);
      at.logits.fill_randomly(1);
      at.label.fill([&](std::int64_t i) { return i % extents[1]; });
      if (soft) at.soft_label.fill_randomly(2, 0.0, 1.0);
      TestTensor<float> again(ctx, {}), grad_again(ctx, extents);
      const auto run = [&](const Context& its, const TensorRef& loss, const TensorRef& grad) {
        cross_entropy_with_softmax(its, at.logits, at.labels(), loss, at.log_sum_exp, at.count, call.params);
        cross_entropy_with_softmax_grad(its, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad, grad,
                                        call.params);
      };
      run(ctx, at.loss, at.logits_grad);
      at.loss.download();
      at.logits_grad.download();
      for (int k = 0; k < 4; ++k) {
        run(Context(ctx).deterministic(k % 2 == 1), again, grad_again);
        expect_same_bits(again, at.loss, "loss");
        expect_same_bits(grad_again, at.logits_grad, "logits_grad");
      }
    }
  }
}

TEST_P(CrossEntropyWithSoftmaxTest, bits_do_not_depend_on_the_number_of_threads) {
  skip_where_sanitized();
  const Context serial(enabled_backends().back());
  if (ctx.backend() != Backend::openmp || serial.backend() != Backend::serial) {
    GTEST_SKIP() << "OpenMP, which has several threads, is compared with Serial";
  }
  for_each_type([&]<class T>() {
    for (const Extents& extents : extents_of_every_kind) {
      for (const int axis : {0, 1}) {
        for (const bool soft : {false, true}) {
          const CrossEntropyCase call{extents, {soft, -100, axis, soft ? "mean" : "sum"}, {}, {}, {}};
          const auto run = [&](const Context& on, CrossEntropyTensors<T>& at) {
            at.logits.fill_randomly(1, -9.0, 9.0);
            at.label.fill([&](std::int64_t i) { return i % 7 == 3 ? -100 : i * 7919 % extents[axis]; });
            if (soft) at.soft_label.fill_randomly(2, 0.0, 1.0);
            cross_entropy_with_softmax(on, at.logits, at.labels(), at.loss, at.log_sum_exp, at.count, call.params);
            cross_entropy_with_softmax_grad(on, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad,
                                            at.logits_grad, call.params);
          };
          CrossEntropyTensors<T> here(ctx, call, Layout::contiguous, Layout::contiguous);
          CrossEntropyTensors<T> there(serial, call, Layout::contiguous, Layout::contiguous);
          run(ctx, here);
          run(serial, there);
          there.loss.download();
          there.log_sum_exp.download();
          there.logits_grad.download();
          const std::string what = extents.to_string() + " axis " + std::to_string(axis) + (soft ? " soft" : "");
          expect_same_bits(here.loss, there.loss, what + " loss");
          expect_same_bits(here.log_sum_exp, there.log_sum_exp, what + " log_sum_exp");
          expect_same_bits(here.logits_grad, there.logits_grad, what + " logits_grad");
        }
      }
    }
  });
}

TEST_P(CrossEntropyWithSoftmaxTest, gradient_agrees_with_central_differences) {
  for (const bool soft : {false, true}) {
    for (const char* const reduction : reductions) {
      for (const int axis : {0, 1, 2}) {
        const Extents extents{3, 4, 2};
        const CrossEntropyCase call{extents, {soft, 1, axis, reduction}, {}, {}, {}};
        CrossEntropyTensors<double> at(ctx, call, Layout::contiguous, Layout::contiguous);
        at.logits.fill_randomly(1);
        at.label.fill([&](std::int64_t i) { return i % extents[axis]; });
        if (soft) at.soft_label.fill_randomly(2, -0.5, 1.0);  // which add up to anything
        const auto loss = [&] {
          cross_entropy_with_softmax(ctx, at.logits, at.labels(), at.loss, at.log_sum_exp, at.count, call.params);
          return weighted_sum(at.loss, at.loss_grad);
        };
        loss();
        cross_entropy_with_softmax_grad(ctx, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad,
                                        at.logits_grad, call.params);
        expect_slopes(at.logits, at.logits_grad, loss);
      }
    }
  }
}

TEST_P(CrossEntropyWithSoftmaxTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  for (const Extents& extents : {Extents{2, 300001}, Extents{30001, 3}}) {
    for (const bool soft : {false, true}) {
      const CrossEntropyCase call{extents, {soft, -100, 1, "mean"}, {}, {}, {}};
      CrossEntropyTensors<float> at(ctx, call, Layout::contiguous, Layout::contiguous);
      at.logits.fill_randomly(1);
      at.label.fill([](std::int64_t) { return 1; });
      if (soft) at.soft_label.fill_randomly(2, 0.0, 1.0);
      TestTensor<float> lent(ctx, {});
      cross_entropy_with_softmax(ctx, at.logits, at.labels(), at.loss, at.log_sum_exp, at.count, call.params);
      LentMemory memory(ctx, cross_entropy_with_softmax_workspace(ctx, at.logits, at.labels(), at.loss, at.log_sum_exp,
                                                                  at.count, call.params));
      const Context lending = Context(ctx).workspace(memory.workspace());
      cross_entropy_with_softmax(lending, at.logits, at.labels(), lent, at.log_sum_exp, at.count, call.params);
      lent.download();
      at.loss.download();
      EXPECT_EQ(lent[0], at.loss[0]);
      EXPECT_TRUE(memory.is_untouched_outside());
      const std::size_t bytes = cross_entropy_with_softmax_grad_workspace(
          ctx, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad, at.logits_grad, call.params);
      EXPECT_EQ(bytes > 0, soft && extents[0] == 2);
    }
  }
}

TEST_P(CrossEntropyWithSoftmaxTest, a_call_by_name_computes_what_the_function_computes) {
  for (const bool soft : {false, true}) {
    const CrossEntropyCase call{{4, 3}, {soft, 1, 0, "mean"}, {}, {}, {}};
    CrossEntropyTensors<float> at(ctx, call, Layout::contiguous, Layout::contiguous);
    CrossEntropyTensors<float> named(ctx, call, Layout::contiguous, Layout::contiguous);
    at.logits.fill_randomly(1);
    at.label.fill([](std::int64_t i) { return i; });
    if (soft) at.soft_label.fill_randomly(2, 0.0, 1.0);
    cross_entropy_with_softmax(ctx, at.logits, at.labels(), at.loss, at.log_sum_exp, at.count, call.params);
    cross_entropy_with_softmax_grad(ctx, at.logits, at.labels(), at.log_sum_exp, at.count, at.loss_grad, at.logits_grad,
                                    call.params);
    auto arguments = Arguments().set("logits", at.logits.ref()).set("label", at.labels());
    arguments.set("soft_label", soft).set("ignore_index", 1).set("axis", 0);
    const auto specs = infer("cross_entropy_with_softmax", arguments);
    EXPECT_EQ(specs.at("loss").extents, Extents());
    EXPECT_EQ(specs.at("log_sum_exp").extents, Extents({3}));
    EXPECT_EQ(specs.at("log_sum_exp").type, ElementType::f64);
    run("cross_entropy_with_softmax", ctx,
        Arguments(arguments)
            .set("loss", named.loss.ref())
            .set("log_sum_exp", named.log_sum_exp.ref())
            .set("count", named.count.ref()));
    run("cross_entropy_with_softmax_grad", ctx,
        Arguments(arguments)
            .set("log_sum_exp", named.log_sum_exp.ref())
            .set("count", named.count.ref())
            .set("loss_grad", at.loss_grad.ref())
            .set("logits_grad", named.logits_grad.ref()));
    for (CrossEntropyTensors<float>* tensors : {&at, &named}) {
      tensors->loss.download();
      tensors->logits_grad.download();
    }
    EXPECT_EQ(named.loss[0], at.loss[0]);
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(named.logits_grad[i], at.logits_grad[i]);
    const TensorRef other = soft ? at.label.ref() : at.logits.ref();
    expect_error([&] { infer("cross_entropy_with_softmax", Arguments(arguments).set("label", other)); },
                 std::string("portops::cross_entropy_with_softmax: label has element type ") +
                     (soft ? "i64, expected f32" : "f32, expected i64"));
  }
}

}  // namespace
}  // namespace portops::test
