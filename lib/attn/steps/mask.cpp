#include "attn/steps/mask.hpp"

#include <algorithm>

#include "attn/simd/kernels.hpp"
#include "attn/steps/twins.hpp"
#include "attn/tensor/broadcast.hpp"
#include "attn/tensor/error.hpp"

namespace attn {

template <class T>
void loop::apply_mask(MatrixView<const T> scores, const MaskView& mask, MatrixView<T> result) {
    // Hide each cell that the mask hides and keep the scores of the others.
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            for (std::size_t k = 0; k < result.columns; ++k) {
                result(g, q, k) = mask.hides(g, q, k) ? minus_infinity<T> : scores(g, q, k);
            }
        }
    }
}

template <class T>
void vectorized::apply_mask(MatrixView<const T> scores, const MaskView& mask,
                            MatrixView<T> result) {
    const RowOperations<T>& rows = row_operations<T>(result.columns);
    for (std::size_t g = 0; g < result.groups; ++g) {
        for (std::size_t q = 0; q < result.rows; ++q) {
            const T* const before = scores.row(g, q);
            T* const after = result.row(g, q);
            const KeyRange visible = mask.visible(q, result.columns);
            const std::size_t count = visible.end - visible.first;
            const bool* const cells = mask.cells(g, q);
            // A cell that repeats itself along the keys hides all of them, or none.
            const bool all = cells && mask.key_stride == 0 && *cells;
            if (cells && mask.key_stride != 0) {
                rows.hide(before + visible.first, cells + visible.first, after + visible.first,
                          count);
            } else if (all) {
                std::fill_n(after, result.columns, minus_infinity<T>);
            } else if (before != after) {
                std::copy_n(before + visible.first, count, after + visible.first);
            }
            std::fill(after, after + visible.first, minus_infinity<T>);
            std::fill(after + visible.end, after + result.columns, minus_infinity<T>);
        }
    }
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

#define ATTN_INSTANTIATE(variant, T)                                                        \
    template void variant::apply_mask(MatrixView<const T>, const MaskView&, MatrixView<T>); \
    template <>                                                                             \
    Array<T> variant::apply_mask(const Array<T>& scores, const Array<bool>& mask) {         \
        const MaskView view = view_of(mask, scores.shape());                                \
        Array<T> result = empty_array<T>(scores.shape());                                   \
        apply_mask<T>(matrices_of(scores), view, matrices_of(result));                      \
        return result;                                                                      \
    }
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn
