#include "attn/simd/panels.hpp"

#include "attn/simd/kernels.hpp"

namespace attn {

template <class Real>
const PanelOperations<Real>* panel_operations() {
    static const auto kernels = simd::kernels_for<Real>();
    return kernels ? &kernels->panels : nullptr;
}

template const PanelOperations<float>* panel_operations();
template const PanelOperations<double>* panel_operations();

}  // namespace attn
