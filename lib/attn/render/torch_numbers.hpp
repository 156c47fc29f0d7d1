#pragma once
#include <cstddef>
#include <memory>

#include "attn/render/cells.hpp"
#include "attn/render/shown.hpp"

namespace attn {

/// The defaults of `torch.set_printoptions`.
inline constexpr Settings torch_defaults{4, 1000, 3, 80, SciMode::automatic};

/// How PyTorch prints the floating values of one tensor: one form and one width for all of them.
struct TorchStyle {
    enum class Form { whole, fixed, scientific };
    Form form = Form::whole;
    int precision = 4;
    std::size_t width = 1;
};

/// PyTorch's choice. A tensor without a finite non-zero value is in whole form, even where
/// `sci_mode` asks for another; a forced form keeps the width of the form it replaces.
TorchStyle torch_style(const Survey& survey, const Settings& settings);

/// Writes a value in a form, not padded: `1.`, `0.5000`, `5.0000e-01`, `-inf`. Returns its end.
char* write_torch_value(char* out, double value, TorchStyle::Form form, int precision);

/// Floating values in one form, aligned to the right: the texts of write_torch_value.
///
/// `greatest` is the greatest finite magnitude among them. It only helps to choose the fastest way.
template <class T>
std::unique_ptr<Cells> torch_cells(const T* data, const TorchStyle& style, double greatest);

}  // namespace attn
