// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/variable.hpp"

#include "autograd/node.hpp"
#include "core/types/fail.hpp"

#include <utility>

namespace portops {
namespace impl {
namespace {

/// A variable that no call made.
std::shared_ptr<VariableData> make_leaf(Value value, autograd::Gradient gradient) {
  if (gradient == autograd::Gradient::none) {
    if (!value && !value.levels) return nullptr;
  } else if (!value) {
    fail("portops::autograd::Variable: a gradient is wanted, but the tensor is empty");
  } else if (value.tensor.type() == ElementType::i64) {
    fail("portops::autograd::Variable: a gradient is wanted of elements of type i64, expected f64, f32, f16 or bf16");
  }
  auto data = std::make_shared<VariableData>();
  data->value = std::move(value);
  if (gradient != autograd::Gradient::none) {
    data->edge.node = std::make_shared<Leaf>(data->value, gradient == autograd::Gradient::sparse);
  }
  return data;
}

/// The leaf of a variable whose gradient is wanted; null for any other.
Leaf* leaf_of(const VariableData* data) {
  return data != nullptr && data->edge.node != nullptr && data->edge.node->is_leaf()
             ? static_cast<Leaf*>(data->edge.node.get())
             : nullptr;
}

/// The same, where there is one.
Leaf& need_leaf(const char* name, const VariableData* data) {
  Leaf* leaf = leaf_of(data);
  if (leaf == nullptr) fail(name, ": the variable is no leaf whose gradient is wanted");
  return *leaf;
}

/// That a gradient of the leaf has its element type and the extents.
void check_as_leaf(const char* name, const Leaf& leaf, const TensorRef& gradient, const Extents& extents) {
  if (!gradient) fail(name, ": the gradient is empty, expected a tensor");
  const ElementType type = leaf.value.tensor.type();
  if (gradient.type() == type && gradient.extents() == extents) return;
  fail(name, ": the gradient is ", name_of(gradient.type()), " ", gradient.extents().to_string(), ", expected ",
       name_of(type), " ", extents.to_string(), " (as the variable)");
}

/// That of an empty variable is nothing.
const Value& value_of(const VariableData* data) {
  static const Value& nothing = *new Value;  // variables may be asked while the program ends
  return data != nullptr ? data->value : nothing;
}

}  // namespace

autograd::Variable make_variable(Value value, Edge edge) {
  auto data = std::make_shared<VariableData>();
  data->value = std::move(value);
  data->edge = std::move(edge);
  return autograd::Variable(std::move(data));
}

}  // namespace impl

namespace autograd {

Variable::Variable(const TensorRef& tensor, Gradient gradient) : Variable(tensor, Levels(), gradient) {}

Variable::Variable(const TensorRef& tensor, const Levels& levels, Gradient gradient)
    : data_(impl::make_leaf({tensor, levels, std::make_shared<impl::Memory>(nullptr)}, gradient)) {}

Variable::Variable(const Tensor& tensor, Gradient gradient) : Variable(tensor, Levels(), gradient) {}

Variable::Variable(const Tensor& tensor, const Levels& levels, Gradient gradient)
    : data_(impl::make_leaf({tensor.ref(), levels, std::make_shared<impl::Memory>(std::make_shared<Tensor>(tensor))},
                            gradient)) {}

Variable::Variable(const Context& ctx, ElementType type, const Extents& extents, Gradient gradient)
    : data_(impl::make_leaf(impl::make_value(ctx, "portops::autograd::Variable", type, extents), gradient)) {}

const TensorRef& Variable::tensor() const { return impl::value_of(data_.get()).tensor; }

const Levels& Variable::levels() const { return impl::value_of(data_.get()).levels; }

bool Variable::wants_gradient() const { return data_ != nullptr && data_->edge.node != nullptr; }

bool Variable::is_leaf() const { return !wants_gradient() || data_->edge.node->is_leaf(); }

Variable Variable::grad() const {
  const impl::Leaf* leaf = impl::leaf_of(data_.get());
  impl::Value gradient = leaf != nullptr ? leaf->gradient() : impl::Value();
  return gradient ? impl::make_variable(std::move(gradient)) : Variable();
}

SparseGradient Variable::sparse_grad() const {
  const impl::Leaf* leaf = impl::leaf_of(data_.get());
  impl::SparseValue gradient = leaf != nullptr ? leaf->sparse_gradient() : impl::SparseValue();
  if (!gradient) return {};
  return {impl::make_variable(std::move(gradient.rows)), impl::make_variable(std::move(gradient.values)),
          impl::make_variable(std::move(gradient.count))};
}

void Variable::clear_grad() {
  if (impl::Leaf* leaf = impl::leaf_of(data_.get())) leaf->clear();
}

void Variable::set_grad(const Variable& gradient) {
  constexpr const char* name = "portops::autograd::Variable::set_grad";
  impl::Leaf& leaf = impl::need_leaf(name, data_.get());
  impl::check_as_leaf(name, leaf, gradient.tensor(), tensor().extents());
  leaf.replace(gradient.data()->value);
}

void Variable::set_grad(const SparseGradient& gradient) {
  constexpr const char* name = "portops::autograd::Variable::set_grad";
  impl::Leaf& leaf = impl::need_leaf(name, data_.get());
  if (!leaf.is_sparse) impl::fail(name, ": the gradient is sparse, and the variable wants a dense one");
  const TensorRef& rows = gradient.rows.tensor();
  if (!rows || !gradient.count.tensor()) {
    impl::fail(name, ": ", rows ? "count of the gradient is" : "rows of the gradient are", " empty, expected a tensor");
  }
  Extents expected = tensor().extents();
  if (expected.rank() > 0) expected[0] = rows.size();
  impl::check_as_leaf(name, leaf, gradient.values.tensor(), expected);
  leaf.replace(
      impl::SparseValue{gradient.rows.data()->value, gradient.values.data()->value, gradient.count.data()->value});
}

bool Variable::wants_sparse_gradient() const {
  const impl::Leaf* leaf = impl::leaf_of(data_.get());
  return leaf != nullptr && leaf->is_sparse;
}

SparseGradient merge_sparse(const Context& ctx, std::int64_t height, const Variable& rows, const Variable& values) {
  const TensorRef& its_rows = rows.tensor();
  const TensorRef& its_values = values.tensor();
  if (!its_rows || !its_values) impl::fail("portops::autograd::merge_sparse: rows or values are empty");
  constexpr const char* label = "portops::autograd::merge_sparse";
  const impl::SparseValue out{impl::make_value(ctx, label, ElementType::i64, its_rows.extents()),
                              impl::make_value(ctx, label, its_values.type(), its_values.extents()),
                              impl::make_value(ctx, label, ElementType::i64, {})};
  impl::merge_rows_of(ctx, height, its_rows, its_values, out);
  return {impl::make_variable(out.rows), impl::make_variable(out.values), impl::make_variable(out.count)};
}

void Variable::on_gradient(std::function<void(const Variable& leaf)> hook) {
  impl::need_leaf("portops::autograd::Variable::on_gradient", data_.get()).set_hook(std::move(hook));
}

Variable Variable::detach() const { return data_ != nullptr ? impl::make_variable(data_->value) : Variable(); }

void Variable::mark_changed(const char* by) const {
  if (data_ != nullptr) data_->value.memory->change(by);
}

}  // namespace autograd
}  // namespace portops
