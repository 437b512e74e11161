// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/parts.hpp"

#include <array>
#include <optional>

namespace portops::impl {
namespace {

/// The messages of onnx.proto that have any number of parts; of others each is one part with its own.
enum class Message : std::uint8_t {
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse_tensor,
  function,
  value_info,
  type,
  tensor_type,
  shape,
  training,
  other
};

struct Field {
  Message of;
  std::uint64_t number;
  Message holds;
};

constexpr std::array fields{Field{Message::model, 7, Message::graph},
                            Field{Message::model, 20, Message::training},
                            Field{Message::model, 25, Message::function},
                            Field{Message::graph, 1, Message::node},
                            Field{Message::graph, 5, Message::tensor},
                            Field{Message::graph, 11, Message::value_info},
                            Field{Message::graph, 12, Message::value_info},
                            Field{Message::graph, 13, Message::value_info},
                            Field{Message::graph, 14, Message::other},
                            Field{Message::graph, 15, Message::sparse_tensor},
                            Field{Message::node, 5, Message::attribute},
                            Field{Message::node, 10, Message::other},
                            Field{Message::attribute, 5, Message::tensor},
                            Field{Message::attribute, 6, Message::graph},
                            Field{Message::attribute, 10, Message::tensor},
                            Field{Message::attribute, 11, Message::graph},
                            Field{Message::attribute, 14, Message::type},
                            Field{Message::attribute, 15, Message::type},
                            Field{Message::attribute, 22, Message::sparse_tensor},
                            Field{Message::attribute, 23, Message::sparse_tensor},
                            Field{Message::sparse_tensor, 1, Message::tensor},
                            Field{Message::sparse_tensor, 2, Message::tensor},
                            Field{Message::function, 7, Message::node},
                            Field{Message::function, 11, Message::attribute},
                            Field{Message::function, 12, Message::value_info},
                            Field{Message::value_info, 2, Message::type},
                            Field{Message::type, 1, Message::tensor_type},
                            Field{Message::type, 4, Message::tensor_type},
                            Field{Message::type, 5, Message::tensor_type},
                            Field{Message::type, 8, Message::tensor_type},
                            Field{Message::type, 9, Message::tensor_type},
                            Field{Message::tensor_type, 1, Message::type},
                            Field{Message::tensor_type, 2, Message::shape},
                            Field{Message::training, 1, Message::graph},
                            Field{Message::training, 2, Message::graph}};

std::optional<Message> message_of(Message message, std::uint64_t field) {
  for (const Field& each : fields) {
    if (each.of == message && each.number == field) return each.holds;
  }
  return std::nullopt;
}

class Counter {
 public:
  explicit Counter(std::uint64_t most) : most_(most) {}

  std::uint64_t count() const { return count_; }

  /// False where bytes are no message, or there are more parts than asked for.
  bool add(Message message, std::string_view bytes, int depth) {
    constexpr int most_depth = 100;  // as protobuf has it
    if (depth > most_depth) return false;
    while (!bytes.empty()) {
      std::uint64_t tag = 0, length = 0;
      if (!take_number(bytes, tag)) return false;
      switch (tag & 7) {
        case 0:
          if (!take_number(bytes, length)) return false;
          continue;
        case 1: length = 8; break;
        case 2:
          if (!take_number(bytes, length) || ++count_ > most_) return false;
          break;
        case 5: length = 4; break;
        default: return false;  // groups, which ONNX has not
      }
      if (length > bytes.size()) return false;
      const std::optional<Message> inner = (tag & 7) == 2 ? message_of(message, tag >> 3) : std::nullopt;
      if (inner && !add(*inner, bytes.substr(0, length), depth + 1)) return false;
      bytes.remove_prefix(length);
    }
    return true;
  }

 private:
  static bool take_number(std::string_view& bytes, std::uint64_t& number) {
    number = 0;
    for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::uint64_t most_, count_ = 0;
};

}  // namespace

std::uint64_t count_parts(std::string_view bytes, std::uint64_t most) {
  Counter counter(most);
  counter.add(Message::model, bytes, 0);
  return counter.count();
}

}  // namespace portops::impl
