// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/engine.hpp"
#include "common/order.hpp"
#include "common/transfer.hpp"
#include "support/support.hpp"
#include "train/checkpoint.hpp"
#include "train/device_images.hpp"
#include "train/mistakes.hpp"
#include "train/trainer.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>

#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace portops;
using namespace portops::apps;
using namespace portops::test;
using testing::ElementsAre;

/// Images whose pixels all differ, as far as a byte can tell, of classes in turn.
LabelledImages some_images(std::int64_t items, std::int64_t height, std::int64_t width, std::int64_t classes) {
  LabelledImages images{height, width, {}, {}};
  for (std::int64_t item = 0; item < items; ++item) {
    images.labels.push_back(item % classes);
    for (std::int64_t pixel = 0; pixel < height * width; ++pixel) {
      images.pixels.push_back(static_cast<std::uint8_t>(37 * (item * height * width + pixel) % 251 + 1));
    }
  }
  return images;
}

// --- pictures ----------------------------------------------------------------------------------------------

TEST(TrainMistakes, AreBesideWhatTheyWereTakenFor) {
  LabelledImages images{56, 56, {}, {0, 0, 1, 1, 0}};
  for (const int level : {10, 20, 30, 40, 50}) images.pixels.insert(images.pixels.end(), 56 * 56, level);
  const std::vector<Told> told{{.label = 0, .share = 0.6},
                               {.label = 1, .share = 0.5},
                               {.label = 1, .share = 0.7},
                               {.label = 1, .share = 0.9},
                               {.label = 1, .share = 0.8}};
  const Picture picture = picture_of_mistakes(images, told, 3, 2);
  constexpr std::int64_t cell = 64;
  ASSERT_EQ(picture.width, 5 * cell + 8);
  ASSERT_EQ(picture.height, 3 * cell + 8);
  const auto levels = [&](std::int64_t row) {
    std::vector<int> found;
    for (std::int64_t column = 0; column < 5; ++column) {
      const std::int64_t pixel = (row * cell + 30) * picture.width + column * cell + 30;
      found.push_back(picture.rgb[static_cast<std::size_t>(3 * pixel)]);
    }
    return found;
  };
  EXPECT_THAT(levels(0), ElementsAre(10, 50, 40, 20, 40));  // the more confident mistake comes first
  EXPECT_THAT(levels(1), ElementsAre(40, 255, 255, 255, 255));
  EXPECT_THAT(levels(2), ElementsAre(255, 255, 255, 255, 255));  // a class without items
}

// --- on the device -----------------------------------------------------------------------------------------

class TrainTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    need_type<float>();
    folder = std::filesystem::temp_directory_path() / ("portops_train_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name) { return (folder / name).string(); }
  std::string bytes(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(file(name), std::ios::binary).rdbuf();
    return text.str();
  }

  /// The pixel of an image at (y, x), or black around it.
  static double pixel(const LabelledImages& images, std::int64_t item, std::int64_t y, std::int64_t x) {
    if (y < 0 || x < 0 || y >= images.height || x >= images.width) return 0.0;
    return images.image(item)[y * images.width + x] / 255.0;
  }

  /// The elements of a view, which is not contiguous, in f32.
  std::vector<float> elements(const TensorRef& view) {
    const std::int64_t items = view.extent(0), height = view.extent(2), width = view.extent(3);
    const std::int64_t rows = (items - 1) * view.stride(0) + (height - 1) * view.stride(2) + width;
    const std::vector<double> all = values_of(ctx, {view.data(), view.type(), {rows}, {1}, view.space()});
    std::vector<float> found;
    for (std::int64_t n = 0; n < items; ++n) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          found.push_back(
              static_cast<float>(all[static_cast<std::size_t>(n * view.stride(0) + y * view.stride(2) + x)]));
        }
      }
    }
    return found;
  }

  /// The same images in files, to learn from.
  StoredImages stored(const LabelledImages& images) {
    const auto write = [&](const std::string& name, const std::vector<std::int64_t>& extents,
                           const std::vector<std::uint8_t>& elements) {
      std::ofstream out(file("train-" + name + "-ubyte"), std::ios::binary);
      out.write("\0\0\x08", 3).put(static_cast<char>(extents.size()));
      for (const std::int64_t extent : extents) {
        for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(extent >> shift));
      }
      out.write(reinterpret_cast<const char*>(elements.data()), static_cast<std::streamsize>(elements.size()));
    };
    write("images-idx3", {images.items(), images.height, images.width}, images.pixels);
    write("labels-idx1", {images.items()}, {images.labels.begin(), images.labels.end()});
    return {folder.string(), "train", 256};
  }

  std::filesystem::path folder;
};

TEST_P(TrainTest, BatchesAreImages) {
  const LabelledImages images = some_images(5, 4, 6, 2);
  for_each_type([&]<class T>() {
    const DeviceImages there(ctx, images, ElementTypeOf<T>::value, {});
    std::mt19937_64 random;
    const ImageBatch batch = there.gather(ctx, indices_on_backend(ctx, there.rows_of({4, 0, 3}, random)));
    ASSERT_EQ(batch.images.tensor().extents(), (Extents{3, 1, 4, 6}));
    const std::vector<float> found = elements(batch.images.tensor());
    std::vector<float> expected;
    for (const std::int64_t item : {4, 0, 3}) {
      for (std::int64_t i = 0; i < 24; ++i) {
        expected.push_back(static_cast<float>(element_cast<T>(pixel(images, item, i / 6, i % 6))));
      }
    }
    EXPECT_EQ(found, expected);
  });
}

TEST_P(TrainTest, EveryShiftAndMirrorImageOccurs) {
  const LabelledImages images = some_images(3, 4, 5, 2);
  const DeviceImages there(ctx, images, ElementType::f32, {.shift = 2, .flips = true});
  std::mt19937_64 random(1);
  const std::vector<std::size_t> items(900, 2);
  const ImageBatch batch = there.gather(ctx, indices_on_backend(ctx, there.rows_of(items, random)));
  const std::vector<float> found = elements(batch.images.tensor());
  std::set<std::vector<float>> expected;
  for (std::int64_t down = -2; down <= 2; ++down) {
    for (std::int64_t across = -2; across <= 2; ++across) {
      for (const bool is_mirrored : {false, true}) {
        std::vector<float> image;
        for (std::int64_t i = 0; i < 20; ++i) {
          const std::int64_t y = i / 5 + down, x = i % 5 + across;
          image.push_back(static_cast<float>(pixel(images, 2, y, is_mirrored ? 4 - x : x)));
        }
        expected.insert(image);
      }
    }
  }
  ASSERT_EQ(expected.size(), 50U);
  std::set<std::vector<float>> seen;
  for (auto from = found.begin(); from != found.end(); from += 20) seen.insert({from, from + 20});
  EXPECT_EQ(seen, expected);
}

/// A small one. The learning rate is large, so that little differences show.
TrainOptions small_options(ElementType type) {
  return {.network = {.width = 0.125, .classes = 3, .type = type},
          .augmentation = {.shift = 1, .flips = true},
          .batch = 8,
          .epochs = 3,
          .learning_rate = 0.02,
          .seed = 5};
}

TEST_P(TrainTest, TakenUpAgainAfterAnEpoch) {
  ctx.deterministic(true);
  const LabelledImages images = some_images(20, 8, 8, 3);
  const auto epoch = [](Trainer& trainer) {
    trainer.begin_epoch();
    for (std::int64_t step = 0; step < trainer.steps_per_epoch(); ++step) trainer.step();
    return trainer.measure();
  };
  for_each_type([&]<class T>() {
    const TrainOptions options = small_options(ElementTypeOf<T>::value);
    const nn::Metadata settings = settings_of(ctx, options, stored(images), 7);
    SCOPED_TRACE(name_of(options.network.type));
    Trainer whole(ctx, options, stored(images), images);
    EXPECT_EQ(whole.steps_per_epoch(), 3);
    EXPECT_EQ(epoch(whole).items, 20);
    save_checkpoint(ctx, file("first"), whole, settings);
    epoch(whole);
    const Measures last = epoch(whole);
    save_checkpoint(ctx, file("whole"), whole, settings);
    EXPECT_EQ(whole.epochs_done(), 3);

    Trainer again(ctx, options, stored(images), images);
    load_checkpoint(ctx, file("first"), again, settings);
    EXPECT_EQ(again.epochs_done(), 1);
    epoch(again);
    const Measures last_again = epoch(again);
    EXPECT_EQ(last_again.losses, last.losses);
    EXPECT_EQ(last_again.right, last.right);
    save_checkpoint(ctx, file("again"), again, settings);
    EXPECT_EQ(bytes("again"), bytes("whole"));
    EXPECT_NE(bytes("first"), bytes("whole"));

    nn::Metadata others = settings;
    others["seed"] = "6";
    expect_error([&] { load_checkpoint(ctx, file("first"), again, others); },
                 file("first") + ": was made with --seed 5, and cannot be resumed with 6");
  });
}

// An epoch has two whole batches, of which the program is, and one that is not whole. On a GPU what is captured is run
// from the second batch on, and the last layer's product may be rounded otherwise; where bits are not asked for, images
// lie with their channels last.
TEST_P(TrainTest, OneProgramComputesWhatCallsDo) {
  const LabelledImages images = some_images(20, 8, 8, 3);
  for_each_type([&]<class T>() {
    TrainOptions options = small_options(ElementTypeOf<T>::value);
    SCOPED_TRACE(name_of(options.network.type));
    for (const bool deterministic : {true, false}) {
      ctx.deterministic(deterministic);
      std::vector<double> losses;
      for (const bool is_program : {false, true}) {
        options.is_program = is_program;
        Trainer trainer(ctx, options, stored(images), images);
        Measures measures;
        int passes = 0;  // of the tape
        for (nn::NamedVariable& each : trainer.network().parameters()) {
          if (each.name == "head.bias") each.variable.on_gradient([&](const nn::Variable&) { ++passes; });
        }
        for (int epoch = 0; epoch < 2; ++epoch) {
          trainer.begin_epoch();
          for (std::int64_t step = 0; step < trainer.steps_per_epoch(); ++step) trainer.step();
          measures = trainer.measure();
        }
        EXPECT_EQ(passes, is_program ? 2 : 6);
        losses.push_back(measures.loss());
        save_checkpoint(ctx, file(is_program ? "program" : "calls"), trainer, {});
      }
      if (deterministic && ctx.backend() != Backend::cuda) {
        EXPECT_EQ(losses[1], losses[0]);
        EXPECT_EQ(bytes("program"), bytes("calls"));
      } else {
        EXPECT_NEAR(losses[1], losses[0], 0.05 * losses[0]);
      }
    }
  });
}

TEST_P(TrainTest, MeasuresAreOfTheStepsSinceTheLast) {
  const LabelledImages images = some_images(20, 8, 8, 3);
  Trainer trainer(ctx, small_options(ElementType::f32), stored(images), images);
  trainer.begin_epoch();
  trainer.step();
  EXPECT_EQ(trainer.measure().items, 8);
  trainer.step();
  trainer.step();
  const Measures rest = trainer.measure();
  EXPECT_EQ(rest.items, 12);
  EXPECT_GT(rest.loss(), 0.0);
  EXPECT_EQ(trainer.test().size(), 20U);
}

TEST_P(TrainTest, ALossThatIsNoNumberIsFound) {
  const LabelledImages images = some_images(20, 8, 8, 3);
  Trainer trainer(ctx, small_options(ElementType::f32), stored(images), images);
  trainer.begin_epoch();
  trainer.step();
  trainer.measure();
  const Tensor host(ElementType::f32, {3});
  std::fill_n(host.data<float>(), 3, std::numeric_limits<float>::quiet_NaN());
  for (const nn::NamedVariable& each : trainer.network().parameters()) {
    if (each.name == "head.bias") copy(ctx, host, each.variable.tensor());
  }
  ctx.fence();
  trainer.step();
  const std::string advice = ", expected numbers: a new training with a smaller --learning-rate may help";
  expect_error([&] { trainer.measure(); }, "a loss is NaN or Inf by step 2" + advice);
  expect_error([&] { trainer.test(); }, "a loss is NaN or Inf of the items to test" + advice);
}

// That the network may take maxima before relu: values and gradients are those of the other order.
TEST_P(TrainTest, MaximaAndReluCommute) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> pixels{-1,  -2, 3,   4, 2,  2,   0,  -1,   //
                                  -3,  -1, 4.5, 4, 1,  2,   0,  0.5,  //
                                  nan, 1,  nan, 7, -1, nan, 0,  0,    //
                                  2,   -1, nan, 8, -2, -3,  -4, 0};
  const Tensor host(ElementType::f32, {1, 1, 4, 8}), grad(ElementType::f32, {1, 1, 2, 4});
  std::copy(pixels.begin(), pixels.end(), host.data<float>());
  for (int i = 0; i < 8; ++i) grad.data<float>()[i] = static_cast<float>(i + 1);
  const auto pool = [&](const nn::Variable& x) { return autograd::pool2d(ctx, x, {.kernel_size = {2, 2}}); };
  const auto relu = [&](const nn::Variable& x) { return autograd::relu(ctx, x); };
  std::vector<std::vector<double>> outs, grads;
  for (const bool is_pool_first : {true, false}) {
    const nn::Variable x(to_backend(ctx, host), autograd::Gradient::wanted);
    const nn::Variable out = is_pool_first ? relu(pool(x)) : pool(relu(x));
    autograd::backward(ctx, out, {.loss_grads = {to_backend(ctx, grad)}});
    outs.push_back(values_of(ctx, out.tensor()));
    grads.push_back(values_of(ctx, x.grad().tensor()));
  }
  EXPECT_THAT(outs[0], testing::Pointwise(testing::NanSensitiveDoubleEq(), outs[1]));
  EXPECT_EQ(grads[0], grads[1]);
  EXPECT_EQ(grads[0][10], 2);  // that of the 4.5
}

// An epoch's last batch of half as many items as micro-batches: each item's weight is large beside theirs.
TEST_P(TrainTest, TheScaleOfALossHasRoomInF16) {
  need_type<f16>();
  const LabelledImages images = some_images(20, 8, 8, 3);
  TrainOptions options = small_options(ElementType::f16);
  options.micro_batches = 8;
  options.learning_rate = 1e-12;
  Trainer trainer(ctx, options, stored(images), images);
  // Without a weight in the last layer no gradient but its own is other than 0, and none is large.
  for (const nn::NamedVariable& each : trainer.network().parameters()) {
    if (each.name != "head.weight") continue;
    const Tensor none = zeros(ctx, ElementType::f16, each.variable.tensor().extents());
    copy(ctx, none, each.variable.tensor());
    ctx.fence();
    each.variable.mark_changed("the test");
  }
  trainer.begin_epoch();
  for (std::int64_t step = 0; step < trainer.steps_per_epoch(); ++step) trainer.step();
  std::vector<double> scale;
  for (const nn::NamedVariable& each : trainer.state()) {
    if (each.name == "loss_scale.scale") scale = values_of(ctx, each.variable.tensor());
  }
  EXPECT_THAT(scale, ElementsAre(32768));  // no step was skipped
}

TEST_P(TrainTest, ACheckpointIsOfTheEndOfAnEpoch) {
  const LabelledImages images = some_images(20, 8, 8, 3);
  const TrainOptions options = small_options(ElementType::f32);
  const nn::Metadata settings = settings_of(ctx, options, stored(images), 7);
  EXPECT_EQ(settings.at("math"), ctx.math() == Math::tf32 ? "tf32" : "ieee");
  Trainer trainer(ctx, options, stored(images), images), again(ctx, options, stored(images), images);
  EXPECT_EQ(trainer.all_steps(), 9);
  trainer.begin_epoch();
  trainer.step();
  save_checkpoint(ctx, file("within"), trainer, settings);
  EXPECT_EQ(micro_batches_of(ctx, file("within")), 1);
  expect_error([&] { load_checkpoint(ctx, file("within"), again, settings); },
               file("within") + ": was made at step 1, expected the end of an epoch: a multiple of 3, from 0 to 9");
}

// --- images in files ---------------------------------------------------------------------------------------

TEST_P(TrainTest, ItemsAreReadByTheirNumbers) {
  const LabelledImages images = some_images(20, 8, 9, 3);
  StoredImages there = stored(images);
  const LabelledImages some = there.read({0, 3, 4, 5, 19});
  EXPECT_THAT(some.labels, ElementsAre(0, 0, 1, 2, 1));
  for (const auto& [place, item] : {std::pair{0, 0}, {1, 3}, {2, 4}, {3, 5}, {4, 19}}) {
    EXPECT_TRUE(std::equal(some.image(place), some.image(place) + 72, images.image(item))) << item;
  }
  EXPECT_EQ(there.read_all().pixels, images.pixels);
  const std::uint32_t whole = there.checksum({there.checksum_of_pixels(0, 20)});
  EXPECT_EQ(there.checksum({there.checksum_of_pixels(0, 7), there.checksum_of_pixels(7, 13)}), whole);
  LabelledImages others = images;
  ++others.pixels.back();
  there = stored(others);
  EXPECT_NE(there.checksum({there.checksum_of_pixels(0, 20)}), whole);
  there.keep(19);
  EXPECT_EQ(there.read_all().items(), 19);
  std::filesystem::resize_file(file("train-images-idx3-ubyte"), 16 + 72 * 10);
  expect_error([&] { there.read({10}); },
               file("train-images-idx3-ubyte") + ": truncated: extents [20, 8, 9] are 1440 elements, found 720");
}

/// One of several processes that never hears of the others.
class LoneOfSeveral final : public impl::Engine {
 public:
  using Engine::Engine;

  std::string_view name() const override { return "none"; }
  Context begin(const Context& on) override { return on; }
  void end(const Context&) override {}
  impl::TransferPtr all_reduce(const Context&, const TensorRef&) override { return nullptr; }
  impl::TransferPtr exchange(const Context&, const impl::Exchange&) override { return nullptr; }
  impl::TransferPtr all_gather(const Context&, const TensorRef&, std::span<const std::int64_t>) override {
    return nullptr;
  }
  impl::TransferPtr broadcast(const Context&, const TensorRef&, int) override { return nullptr; }
  void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) override {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = own[i % own.size()];
  }
  void broadcast_bytes(std::span<char>, int) override {}
  std::shared_ptr<impl::Engine> twin() override { return std::make_shared<LoneOfSeveral>(rank, size); }
  void end_job() override { std::abort(); }
};

/// A process holds what it learns from in the epoch, and no more; others hold the rest.
TEST_P(TrainTest, EachProcessHoldsItsShare) {
  constexpr std::int64_t items = 21;
  const LabelledImages images = some_images(items, 8, 8, 3);
  const StoredImages train = stored(images);
  TrainOptions options = small_options(ElementType::f32);
  for (const int size : {1, 2, 4}) {
    for (const bool is_whole : {false, true}) {
      options.micro_batches = is_whole ? size : 4;
      options.synchronise_batch_norm = is_whole;
      std::vector<std::int64_t> all;
      for (int rank = 0; rank < size; ++rank) {
        const auto engine = std::make_shared<LoneOfSeveral>(rank, size);
        Trainer trainer(ctx, options, train, images, {engine, engine});
        EXPECT_THAT(trainer.held_items(), testing::IsEmpty());
        trainer.begin_epoch();
        const std::vector<std::int64_t>& held = trainer.held_items();
        EXPECT_LE(held.size(), static_cast<std::size_t>(items / size + 3));
        EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
        all.insert(all.end(), held.begin(), held.end());
      }
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      EXPECT_EQ(all.size(), static_cast<std::size_t>(items));
    }
  }
}

PORTOPS_ON_EVERY_BACKEND(TrainTest);

}  // namespace
