#pragma once
#include <functional>
#include <string_view>

namespace attn {

/// Receives output piece by piece, so that large tensors need not be held as text.
using Sink = std::function<void(std::string_view)>;

}  // namespace attn
