// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "images.hpp"
#include "trainer.hpp"

#include <portops/core/context.hpp>
#include <portops/nn/safetensors.hpp>

#include <string>

namespace portops::apps {

/// What training depends on, beside what a checkpoint has in tensors: it is taken up with the same, or not at all.
nn::Metadata settings_of(const TrainOptions& options, const LabelledImages& train);

/// Writes a checkpoint. Throws Error, which names the file; the one that was there then stays.
void save_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings);

/// Takes training up where a checkpoint was written. Throws Error, which names the file, where it cannot be read, is of
/// another network, or has other settings.
void load_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings);

}  // namespace portops::apps
