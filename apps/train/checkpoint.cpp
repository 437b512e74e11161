// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint.hpp"

#include "common/values.hpp"

#include <portops/core/error.hpp>

namespace portops::apps {

nn::Metadata settings_of(const TrainOptions& options, const LabelledImages& train) {
  return {{"data", std::to_string(train.items()) + " items, checksum " + std::to_string(train.checksum())},
          {"batch", std::to_string(options.batch)},
          {"micro-batches", std::to_string(options.micro_batches)},
          {"epochs", std::to_string(options.epochs)},
          {"learning-rate", to_string(options.learning_rate)},
          {"augment", options.augmentation.flips ? "on" : "off"},
          {"seed", std::to_string(options.seed)}};
}

void save_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings) {
  nn::save(ctx, name, trainer.state(), settings);
}

void load_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings) {
  const nn::Metadata found = nn::load(ctx, name, trainer.state(), {.unused = trainer.network().unused()});
  for (const auto& [setting, value] : settings) {
    const auto place = found.find(setting);
    if (place != found.end() && place->second == value) continue;
    throw Error(name + ": was made with --" + setting + " " + (place == found.end() ? "unknown" : place->second) +
                ", and cannot be resumed with " + value);
  }
}

}  // namespace portops::apps
