#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace attn {

/// A box of a flow diagram, or a bend of an arrow on its way past a layer.
struct FlowNode {
    double width = 0;
    std::vector<std::size_t> reads{};  ///< the nodes that arrows come from, all of them earlier
    bool is_bend = false;

    // Set by the layout.
    std::size_t layer = 0;
    double x = 0;  ///< of its middle
};

/// The nodes with bends added after them, each given a layer and a place on it: what is read lies
/// above what reads it, arrows are short and cross seldom, and no arrow passes through a box.
///
/// Source  K. Sugiyama et al., "Methods for visual understanding of hierarchical system
/// structures",
///         1981; places by isotonic regression.
std::vector<FlowNode> laid_out(std::vector<FlowNode> nodes);

}  // namespace attn
