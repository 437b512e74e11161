// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "classifier.hpp"

#include "common/transfer.hpp"

#include <portops/core/error.hpp>
#include <portops/graph/compile.hpp>
#include <portops/graph/onnx.hpp>

#include <algorithm>

namespace portops::apps {

namespace {

/// A pixel's number in a channel of so many.
double number_of(const std::uint8_t* rgb, std::int64_t channel, std::int64_t channels) {
  const double level = channels == 3 ? rgb[channel] : 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
  return level / 255.0;
}

/// A picture as an image [C, H, W].
template <class T>
void put_image(const Picture& picture, std::int64_t channels, T* image) {
  const std::int64_t pixels = picture.width * picture.height;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t i = 0; i < pixels; ++i) {
      image[channel * pixels + i] = element_cast<T, double>(number_of(picture.rgb.data() + 3 * i, channel, channels));
    }
  }
}

std::string described(const graph::ValueInfo& value) {
  return std::string(name_of(value.type)) + " " + value.extents.to_string();
}

}  // namespace

graph::Program read_classifier(const std::string& file, const std::optional<Extents>& images) {
  graph::ReadOnnxParams params;
  if (images) {
    for (const std::string& input : graph::onnx_inputs(file)) params.inputs[input] = *images;
  }
  graph::Program program = graph::read_onnx(file, params);
  if (program.inputs().size() != 1 || program.outputs().size() != 1) {
    throw Error(file + ": has " + std::to_string(program.inputs().size()) + " inputs and " +
                std::to_string(program.outputs().size()) + " outputs, expected one of each");
  }
  const graph::ValueInfo& input = program.value(program.inputs().front());
  const Extents& x = input.extents;
  if (input.type == ElementType::i64 || x.rank() != 4 || (x[1] != 1 && x[1] != 3) || x.product() == 0) {
    throw Error(file + ": the input " + input.name + " is " + described(input) +
                ", expected images, [N, 1, H, W] or [N, 3, H, W]");
  }
  const graph::ProgramOutput& output = program.outputs().front();
  const graph::ValueInfo& scores = program.value(output.value);
  if (scores.type == ElementType::i64 || scores.extents.rank() != 2 || scores.extents[0] != x[0] ||
      scores.extents[1] == 0) {
    throw Error(file + ": the output " + output.name + " is " + described(scores) + ", expected scores, [" +
                std::to_string(x[0]) + ", classes]");
  }
  return program;
}

Classifier::Classifier(const Context& ctx, const graph::Program& program)
    : ctx_(ctx),
      execution_(ctx, graph::CompiledProgram(ctx, program)),
      input_(program.value(program.inputs().front()).name),
      output_(program.outputs().front().name),
      images_(program.value(program.inputs().front()).extents),
      classes_(program.value(program.outputs().front().value).extents[1]) {}

std::vector<double> Classifier::scores(std::span<const Picture> pictures, std::span<const std::string> names) {
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Picture& picture = pictures[i];
    if (picture.width == images_[3] && picture.height == images_[2]) continue;
    throw Error(names[i] + ": is " + picture.size() + ", expected " + std::to_string(images_[3]) + " x " +
                std::to_string(images_[2]));
  }
  const auto each = static_cast<std::size_t>(images_[0]);
  std::vector<double> all;
  for (std::size_t first = 0; first < pictures.size(); first += each) {
    const auto batch = pictures.subspan(first, std::min(each, pictures.size() - first));
    const TensorRef there = execution_.input(input_);
    const Tensor images(there.type(), there.extents());
    with_type(there.type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* image = images.data<T>();
      std::fill_n(image, images_.product(), T{});  // the images that the last run has too many
      for (const Picture& picture : batch) {
        put_image(picture, images_[1], image);
        image += images_[1] * images_[2] * images_[3];
      }
    });
    copy(ctx_, images, there);
    execution_.run();
    const std::vector<double> found = values_of(ctx_, execution_.output(output_));
    all.insert(all.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(batch.size()) * classes_);
  }
  return all;
}

}  // namespace portops::apps
