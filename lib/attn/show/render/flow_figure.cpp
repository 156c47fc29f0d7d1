#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/layout.hpp"
#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

constexpr double box_height = 38;
constexpr double layer_height = 60;
constexpr double line_height = 15;
/// Characters of a line of formulas.
constexpr std::size_t formula_columns = 76;

std::string axes_of(const Section& section) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    return tensor == nullptr ? "" : tensor->described();
}

/// Returns the sections that are boxes: the inputs of a walk, its parameters and computed steps;
/// the parts of softmax if they are shown.
std::vector<const Section*> boxes_of(const Document& document) {
    std::vector<const Section*> boxes;
    for (const Section& section : document.sections) {
        if (!section.detail || section.shown) boxes.push_back(&section);
    }
    return boxes;
}

/// Returns the earlier boxes that this one was computed from.
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

constexpr double margin = 16;

/// The path of an arrow from a box to its reader.
struct Way {
    std::size_t from;
    std::vector<std::pair<double, double>> points;
};

Way way_between(const std::vector<FlowNode>& nodes, std::size_t from, std::size_t reader) {
    const auto above = [&](std::size_t n) { return std::pair(nodes[n].x, nodes[n].y); };
    const auto below = [&](std::size_t n) {
        return std::pair(nodes[n].x, nodes[n].y + box_height);
    };
    Way way{from, {above(reader)}};
    for (; nodes[way.from].is_bend; way.from = nodes[way.from].reads.front()) {
        way.points.push_back(below(way.from));
        way.points.push_back(above(way.from));
    }
    way.points.push_back(below(way.from));
    std::reverse(way.points.begin(), way.points.end());
    return way;
}

void draw_box(Svg& svg, const Section& section, const FlowNode& node, double shift) {
    const double middle = node.x + shift;
    svg.add(
        fmt::format("<g><title>{}</title><rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" "
                    "height=\"{}\" rx=\"5\"/></g>\n",
                    xml_text(section.formula.empty() ? section.title.raw() : section.formula),
                    node.reads.empty() ? "given" : "box", px(middle - node.width / 2), px(node.y),
                    px(node.width), px(box_height)));
    const std::string part = role_class(section.name);
    svg.text({.x = middle, .y = node.y + 17, .anchor = "middle", .style = part.c_str()},
             section.name);
    svg.text({.x = middle, .y = node.y + 32, .anchor = "middle", .style = "tiny soft"},
             axes_of(section));
    svg.reach(middle + node.width / 2, node.y + box_height);
}

/// Draws all boxes below one another with their formulas; arrows past other boxes bend to the left,
/// further for longer arrows.
void draw_column(Svg& svg, const std::vector<const Section*>& boxes, double first) {
    constexpr double step = 56, lane = 9, most_lanes = 9;
    double widest = 0;
    for (const Section* box : boxes) {
        widest =
            std::max({widest, text_width(box->name) + 20, text_width(axes_of(*box), 10.5) + 16});
    }
    const double left = margin + lane * most_lanes;
    const auto top = [&](std::size_t i) { return first + step * static_cast<double>(i); };
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const std::vector<std::size_t> read = boxes_read(boxes, i);
        FlowNode node{widest, read};
        node.x = left + widest / 2;
        node.y = top(i);
        draw_box(svg, *boxes[i], node, 0);
        double y = top(i) + 14;
        const TextAt beside{.x = left + widest + 16, .y = y, .style = "small"};
        y = svg.paragraph(beside, boxes[i]->title.raw(), 64, 11);
        svg.paragraph({.x = beside.x, .y = y, .style = "formula soft"}, boxes[i]->formula, 72, 12);
        svg.reach(left + widest, top(i) + box_height);
        for (const std::size_t from : read) {
            if (from + 1 == i) {
                svg.add(arrow({{node.x, top(from) + box_height}, {node.x, top(i)}}));
                continue;
            }
            const double out = left - lane * std::min(most_lanes, static_cast<double>(i - from));
            svg.add(
                fmt::format("<path class=\"rule\" marker-end=\"url(#tip)\" "
                            "stroke-width=\"1.3\" d=\"M{0} {1}C{2} {1} {2} {3} {0} {3}\"/>\n",
                            px(left), px(top(from) + 26), px(out), px(top(i) + 14)));
        }
    }
}

/// Returns the lines of formulas beside each layer: one or more for each computed box.
std::vector<std::vector<std::string>> formulas_of(const std::vector<const Section*>& boxes,
                                                  const std::vector<FlowNode>& nodes) {
    std::vector<std::vector<std::string>> layers;
    for (const FlowNode& node : nodes) layers.resize(std::max(layers.size(), node.layer + 1));
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (nodes[i].reads.empty()) continue;
        auto& lines = layers[nodes[i].layer];
        for (std::string& line : wrap(boxes[i]->formula, formula_columns)) {
            lines.push_back(std::move(line));
        }
    }
    return layers;
}

/// Returns the right edge of the boxes.
double right_of(const std::vector<FlowNode>& nodes) {
    double right = 0;
    for (const FlowNode& node : nodes) right = std::max(right, node.x + node.width / 2);
    return right;
}

/// Places the layers one below the other, with room for their formulas.
void stack_layers(std::vector<FlowNode>& nodes, double top,
                  const std::vector<std::vector<std::string>>& formulas) {
    std::vector<double> tops{top};
    for (const auto& lines : formulas) {
        const double text = line_height * static_cast<double>(lines.size()) + 6;
        tops.push_back(tops.back() + std::max(layer_height, text));
    }
    for (FlowNode& node : nodes) node.y = tops[node.layer];
}

}  // namespace

void draw_flow(Svg& svg, const Document& document, const FigureChoices& choices) {
    std::vector<const Section*> boxes = boxes_of(document);
    // A gradient's box is next to that of its step, at the same height.
    std::map<std::string, const Section*> gradients;
    std::erase_if(boxes, [&](const Section* section) {
        if (section->name.starts_with("d_")) gradients[section->name.substr(2)] = section;
        return section->name.starts_with("d_") || section->name == "row_dot";
    });
    const auto gradient_of = [&](std::size_t i) {
        const auto found = gradients.find(boxes[i]->name);
        return found == gradients.end() ? nullptr : found->second;
    };
    std::vector<FlowNode> nodes;
    bool flows = false;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        FlowNode node;
        const Section* const back = gradient_of(i);
        node.width = std::max({70.0, text_width((back ? back : boxes[i])->name) + 20,
                               text_width(axes_of(*boxes[i]), 10.5) + 16});
        node.reads = boxes_read(boxes, i);
        flows = flows || !node.reads.empty();
        nodes.push_back(std::move(node));
    }
    if (!flows) {
        throw ConfigError(
            "$figure flow draws the steps of a walk and what each reads, and there are none here: "
            "leave $only out, or use $figure matrix"_message);
    }
    svg.add(
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><path class=\"soft\" d=\"M0 0l8 4l-8 4z\"/></marker>"
        "</defs>\n");
    double top = 20;
    if (choices.with_words) {
        svg.text({.x = margin, .y = 30, .style = "title"},
                 "From " + boxes.front()->name + " to " + boxes.back()->name);
        top = 48;
    }
    if (choices.columns == 1) return draw_column(svg, boxes, top);
    nodes = laid_out(std::move(nodes));
    for (FlowNode& node : nodes) node.x += margin;
    const double shift = right_of(nodes) + 2 * margin;
    const double beside = gradients.empty() ? shift : shift + right_of(nodes) + margin;
    auto formulas = formulas_of(boxes, nodes);
    double right = beside;
    for (const auto& lines : formulas) {
        for (const std::string& line : lines) {
            right = std::max(right, beside + formula_width(line));
        }
    }
    if (!choices.with_words || right > memory_needs(choices, tiny_type)) {
        for (auto& lines : formulas) lines.clear();
    }
    stack_layers(nodes, top, formulas);
    for (std::size_t layer = 0; layer < formulas.size(); ++layer) {
        const auto box = std::ranges::find(nodes, layer, &FlowNode::layer);
        const auto& lines = formulas[layer];
        double y =
            box->y + box_height / 2 + 4 - line_height / 2 * (static_cast<double>(lines.size()) - 1);
        for (const std::string& line : lines) {
            svg.text({.x = beside, .y = y, .style = "formula"}, line);
            svg.reach(beside + formula_width(line), y);
            y += line_height;
        }
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        for (const std::size_t from : nodes[i].reads) {
            Way way = way_between(nodes, from, i);
            svg.add(arrow(way.points));
            const bool is_loss = boxes[i]->name == "loss";
            if (gradient_of(way.from) == nullptr || !(is_loss || gradient_of(i))) continue;
            for (auto& [x, y] : way.points) x += shift;
            if (is_loss) {
                // Start at the loss itself, around the box that it is computed from.
                way.points.back() = {nodes[i].x + nodes[i].width / 2, nodes[i].y + 20};
            }
            std::reverse(way.points.begin(), way.points.end());
            svg.add(arrow(way.points));
        }
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        draw_box(svg, *boxes[i], nodes[i], 0);
        if (const Section* back = gradient_of(i)) draw_box(svg, *back, nodes[i], shift);
    }
}

}  // namespace attn
