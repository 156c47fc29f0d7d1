#include <algorithm>

#include <fmt/format.h>

#include "attn/render/flow_layout.hpp"
#include "attn/render/svg.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

constexpr double box_height = 40;
constexpr double layer_height = 74;

std::string axes_of(const Section& section) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    return tensor == nullptr ? "" : tensor->described();
}

/// The sections that are boxes: what a walk starts from, its parameters and what it computes; the
/// parts of softmax where they are shown.
std::vector<const Section*> boxes_of(const Document& document) {
    std::vector<const Section*> boxes;
    for (const Section& section : document.sections) {
        if (!section.detail || section.shown) boxes.push_back(&section);
    }
    return boxes;
}

/// The earlier boxes that this one was made from.
std::vector<std::size_t> boxes_read(const std::vector<const Section*>& boxes, std::size_t reader) {
    std::vector<std::size_t> read;
    for (std::size_t i = 0; i < reader; ++i) {
        const auto& names = boxes[reader]->reads;
        if (std::find(names.begin(), names.end(), boxes[i]->name) != names.end()) read.push_back(i);
    }
    return read;
}

std::string arrow(const std::vector<std::pair<double, double>>& points) {
    std::string d = fmt::format("M{} {}", px(points[0].first), px(points[0].second));
    for (std::size_t i = 1; i < points.size(); ++i) {
        const auto [x, y] = points[i];
        const double middle = (points[i - 1].second + y) / 2;
        d += fmt::format("C{} {} {} {} {} {}", px(points[i - 1].first), px(middle), px(x),
                         px(middle), px(x), px(y));
    }
    return "<path class=\"rule\" marker-end=\"url(#tip)\" stroke-width=\"1.3\" d=\"" + d + "\"/>\n";
}

}  // namespace

void draw_flow(Svg& svg, const Document& document) {
    const std::vector<const Section*> boxes = boxes_of(document);
    std::vector<FlowNode> nodes;
    bool flows = false;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        FlowNode node;
        node.width = std::max(
            {70.0, text_width(boxes[i]->name) + 20, text_width(axes_of(*boxes[i]), 10.5) + 16});
        node.reads = boxes_read(boxes, i);
        flows = flows || !node.reads.empty();
        nodes.push_back(std::move(node));
    }
    if (!flows) {
        throw ConfigError(
            "--figure flow draws the steps of a walk and what each reads, and there are none here: "
            "leave --only out, or use --figure matrix");
    }
    nodes = laid_out(std::move(nodes));

    const auto top_of = [](const FlowNode& node) {
        return 20 + layer_height * static_cast<double>(node.layer);
    };
    const auto middle_of = [](const FlowNode& node) { return 16 + node.x; };
    svg.add(
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><path class=\"soft\" d=\"M0 0l8 4l-8 4z\"/></marker>"
        "</defs>\n");
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        for (std::size_t from : nodes[i].reads) {
            std::vector<std::pair<double, double>> points{{middle_of(nodes[i]), top_of(nodes[i])}};
            for (; nodes[from].is_bend; from = nodes[from].reads.front()) {
                points.emplace_back(middle_of(nodes[from]), top_of(nodes[from]) + box_height);
                points.emplace_back(middle_of(nodes[from]), top_of(nodes[from]));
            }
            points.emplace_back(middle_of(nodes[from]), top_of(nodes[from]) + box_height);
            std::reverse(points.begin(), points.end());
            svg.add(arrow(points));
        }
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const FlowNode& node = nodes[i];
        const double left = middle_of(node) - node.width / 2;
        svg.add(
            fmt::format("<g><title>{}</title><rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" "
                        "height=\"{}\" rx=\"5\"/></g>\n",
                        xml_text(boxes[i]->formula.empty() ? boxes[i]->title : boxes[i]->formula),
                        node.reads.empty() ? "given" : "box", px(left), px(top_of(node)),
                        px(node.width), px(box_height)));
        svg.text({.x = middle_of(node), .y = top_of(node) + 17, .anchor = "middle"},
                 boxes[i]->name);
        svg.text({.x = middle_of(node),
                  .y = top_of(node) + 32,
                  .anchor = "middle",
                  .style = "tiny soft"},
                 axes_of(*boxes[i]));
        svg.reach(left + node.width, top_of(node) + box_height);
    }
}

}  // namespace attn
