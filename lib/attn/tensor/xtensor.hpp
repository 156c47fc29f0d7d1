#pragma once
#include <xtensor/xadapt.hpp>

#include "attn/tensor/array.hpp"

namespace attn {

/// An array as xtensor sees it, without a copy. Only the files that calculate with whole arrays
/// include this header: xtensor takes three seconds to compile.
template <class T>
auto as_xtensor(const Array<T>& array) {
    return xt::adapt(array.data(), array.size(), xt::no_ownership(), array.shape());
}

/// The numbers of an xtensor expression, which may be lazy: here they are computed.
template <class T, class Expression>
Array<T> evaluated(const Expression& expression) {
    Array<T> result =
        Array<T>::from_shape(Shape(expression.shape().begin(), expression.shape().end()));
    auto view = xt::adapt(result.data(), result.size(), xt::no_ownership(), result.shape());
    view = expression;
    return result;
}

}  // namespace attn
