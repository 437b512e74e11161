// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint.hpp"

#include "common/values.hpp"
#include "gather.hpp"

#include <portops/comm/gradient_sum.hpp>
#include <portops/comm/share.hpp>
#include <portops/core/error.hpp>
#include <portops/core/tensor.hpp>

#include <algorithm>
#include <charconv>

namespace portops::apps {

nn::Metadata settings_of(const Context& ctx, const TrainOptions& options, const StoredImages& train,
                         std::uint32_t checksum) {
  // Of a batch that is normalised as a whole the processes' shares are no property.
  const std::string micro_batches =
      options.synchronise_batch_norm ? "one each, --synchronise-batch-norm" : std::to_string(options.micro_batches);
  return {{"data", std::to_string(train.items()) + " items, checksum " + std::to_string(checksum)},
          {"batch", std::to_string(options.batch)},
          {"micro-batches", micro_batches},
          {"epochs", std::to_string(options.epochs)},
          {"learning-rate", to_string(options.learning_rate)},
          {"augment", options.augmentation.flips ? "on" : "off"},
          {"math", ctx.math() == Math::tf32 ? "tf32" : "ieee"},
          {"seed", std::to_string(options.seed)}};
}

std::uint32_t checksum_of(const Context& ctx, const comm::Communicator& processes, const StoredImages& train) {
  const comm::Range mine = comm::share_of(train.items(), processes.rank(), processes.size());
  const Checksum own = train.checksum_of_pixels(mine.first, mine.count);
  std::vector<Checksum> all;
  for (const std::vector<std::int64_t>& each : gathered(ctx, processes, {own.value, own.bytes})) {
    all.push_back({.value = static_cast<std::uint32_t>(each[0]), .bytes = each[1]});
  }
  return train.checksum(all);
}

void check_agreement(const Context& ctx, const comm::Communicator& processes, const std::vector<std::string>& texts) {
  // The names of what is broadcast are compared first; without elements nothing follows.
  const Tensor nothing(ElementType::i64, {0});
  nn::State names;
  for (const std::string& text : texts) names.push_back({text, nothing});
  comm::broadcast(ctx, processes, names);
}

std::vector<std::string> texts_of(const nn::Metadata& settings) {
  std::vector<std::string> texts;
  for (const auto& [setting, value] : settings) texts.push_back("--" + setting + " " + value);
  return texts;
}

void save_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings) {
  nn::save(ctx, name, trainer.state(), settings);
}

std::int64_t micro_batches_of(const Context& ctx, const std::string& name) {
  // The texts alone: no tensor's name begins so.
  const nn::Metadata found = nn::load(ctx, name, {}, {.prefix = "\n"});
  const auto place = found.find("micro-batches");
  std::int64_t number = 0;
  if (place != found.end()) std::from_chars(place->second.data(), place->second.data() + place->second.size(), number);
  return std::max<std::int64_t>(number, 0);
}

void load_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings) {
  nn::LoadParams params;
  for (const std::string& each : trainer.network().unused()) params.unused.push_back("model." + each);
  const nn::Metadata found = nn::load(ctx, name, trainer.state(), params);
  for (const auto& [setting, value] : settings) {
    const auto place = found.find(setting);
    if (place != found.end() && place->second == value) continue;
    throw Error(name + ": was made with --" + setting + " " + (place == found.end() ? "unknown" : place->second) +
                ", and cannot be resumed with " + value);
  }
  const std::int64_t steps = trainer.steps(), epoch = trainer.steps_per_epoch(), all = trainer.all_steps();
  if (steps >= 0 && steps <= all && steps % epoch == 0) return;
  throw Error(name + ": was made at step " + std::to_string(steps) + ", expected the end of an epoch: a multiple of " +
              std::to_string(epoch) + ", from 0 to " + std::to_string(all));
}

}  // namespace portops::apps
