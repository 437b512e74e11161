// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/autograd_support.hpp"

#include <portops/graph/onnx.hpp>

#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <string>

// Models of the tests, in ONNX' own text format: https://github.com/onnx/onnx/blob/main/docs/Syntax.md.

namespace portops::test {

namespace graph = portops::graph;

inline onnx::ModelProto model_of(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage() << "\n" << text;
  return model;
}

/// A graph of an operator set.
inline std::string bytes_of_graph(int operator_set, const std::string& graph) {
  return model_of("<ir_version: 8, opset_import: [\"\" : " + std::to_string(operator_set) + ", \"portops\" : 1]> g " +
                  graph)
      .SerializeAsString();
}

inline graph::Program read_graph(int operator_set, const std::string& graph, const graph::ReadOnnxParams& params = {}) {
  return graph::parse_onnx(bytes_of_graph(operator_set, graph), params);
}

/// A graph of operator set 17 that calls a function of the domain "l".
inline std::string bytes_with_function(const std::string& graph, const std::string& function) {
  return model_of("<ir_version: 8, opset_import: [\"\" : 17, \"l\" : 1]> g " + graph +
                  " <domain: \"l\", opset_import: [\"\" : 17]> " + function)
      .SerializeAsString();
}

/// What reading it says, without what every message begins with.
inline std::string refusal_of(const std::string& bytes, const graph::ReadOnnxParams& params = {}) {
  const std::string message = message_of([&] { graph::parse_onnx(bytes, params); });
  const std::string begin = "portops::graph::parse_onnx: model: ";
  return message.starts_with(begin) ? message.substr(begin.size()) : "?" + message;
}
inline std::string refusal_of_graph(int operator_set, const std::string& graph,
                                    const graph::ReadOnnxParams& params = {}) {
  return refusal_of(bytes_of_graph(operator_set, graph), params);
}

/// ONNX' own opinion of a model: "" where its checker and its shape inference, strict and with data, find nothing.
inline std::string opinion_of_onnx(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return "no model";
  try {
    onnx::checker::check_model(model);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(true, 1, true));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace portops::test
