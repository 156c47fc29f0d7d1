#pragma once

namespace attn {

/// How far two numbers may lie apart and still count as the same:
/// |a - b| <= absolute + relative * |b|.
struct Tolerance {
    double absolute = 0;
    double relative = 0;
};

}  // namespace attn
