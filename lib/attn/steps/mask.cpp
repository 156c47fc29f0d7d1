#include "attn/steps/mask.hpp"

#include <algorithm>

#include "attn/steps/rows.hpp"
#include "attn/steps/twins.hpp"
#include "attn/tensor/broadcast.hpp"

namespace attn {

template <class T>
Array<T> loop::apply_mask(const Array<T>& scores, const Array<bool>& mask) {
    const MaskView view = view_of(mask, scores.shape());
    Array<T> result = empty_array<T>(scores.shape());
    const MatrixView<const T> before = matrices_of(scores);
    const MatrixView<T> after = matrices_of(result);

    // Hide each cell that the mask hides and keep the scores of the others.
    for (std::size_t g = 0; g < after.groups; ++g) {
        for (std::size_t q = 0; q < after.rows; ++q) {
            for (std::size_t k = 0; k < after.columns; ++k) {
                after(g, q, k) = view.hides(g, q, k) ? minus_infinity<T> : before(g, q, k);
            }
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::apply_mask(const Array<T>& scores, const Array<bool>& mask) {
    const MaskView view = view_of(mask, scores.shape());
    const MatrixView<const T> matrices = matrices_of(scores);
    return with_each_row(scores, [&](std::size_t row, const auto& rows, const T* from, T* to) {
        const bool* const hidden = view.cells(row / matrices.rows, row % matrices.rows);
        if (view.key_stride != 0) {
            rows.hide(from, hidden, to, matrices.columns);
        } else {  // one cell for all keys
            *hidden ? std::fill_n(to, matrices.columns, minus_infinity<T>)
                    : std::copy_n(from, matrices.columns, to);
        }
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

#define ATTN_INSTANTIATE(variant, T) \
    template Array<T> variant::apply_mask(const Array<T>&, const Array<bool>&);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn
