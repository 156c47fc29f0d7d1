#pragma once

namespace attn {

/// The largest difference of two numbers that count as equal: |a - b| <= absolute + relative * |b|.
struct Tolerance {
    double absolute = 0;
    double relative = 0;
};

}  // namespace attn
