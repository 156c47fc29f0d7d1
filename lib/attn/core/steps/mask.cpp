#include "attn/core/steps/mask.hpp"

#include <algorithm>

#include "attn/core/steps/arithmetic.hpp"
#include "attn/ground/simd/row.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

template <class T>
Array<T> loop::apply_mask(Array<T> scores, const Array<bool>& mask) {
    const MaskView view = view_of(mask, scores.shape());

    // Set each cell that the mask hides to minus infinity, and keep the others.
    return with_each_cell(std::move(scores),
                          [&](std::size_t g, std::size_t q, std::size_t k, T& score) {
                              if (view.hides(g, q, k)) score = minus_infinity<T>;
                          });
}

template <class T>
Array<T> vectorized::apply_mask(Array<T> scores, const Array<bool>& mask) {
    const MaskView view = view_of(mask, scores.shape());
    const std::size_t queries = groups_of(scores.shape()).rows;
    return by_row(std::move(scores), [&](Row<T> s, std::size_t r) {
        const bool* const hidden = view.cells(r / queries, r % queries);
        return view.key_stride == 0 ? where(*hidden, minus_infinity<T>, s)
                                    : where(hidden, minus_infinity<T>, s);
    });
}

MaskView view_of(const Array<bool>& mask, const Shape& scores) {
    const std::vector<std::size_t> strides =
        broadcast_strides("the mask", mask.shape(), "the scores", scores);
    MaskView view;
    view.heads = scores.size() > 2 ? scores[scores.size() - 3] : 1;
    view.hidden = mask.data();
    std::size_t* const axes[]{&view.key_stride, &view.query_stride, &view.head_stride,
                              &view.batch_stride};
    for (std::size_t i = 0; i < std::min(strides.size(), std::size(axes)); ++i) {
        *axes[i] = strides[strides.size() - 1 - i];
    }
    return view;
}

template Array<float> loop::apply_mask(Array<float>, const Array<bool>&);
template Array<double> loop::apply_mask(Array<double>, const Array<bool>&);
template Array<float> vectorized::apply_mask(Array<float>, const Array<bool>&);
template Array<double> vectorized::apply_mask(Array<double>, const Array<bool>&);

}  // namespace attn
