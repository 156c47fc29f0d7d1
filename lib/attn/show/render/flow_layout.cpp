#include "attn/ground/text/collected.hpp"
#include "attn/show/render/layout.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace attn {
namespace {

using Layers = std::vector<std::vector<std::size_t>>;
using Neighbours = std::vector<std::vector<std::size_t>>;

constexpr double gap = 16;

Neighbours readers_of(const std::vector<FlowNode>& nodes) {
    Neighbours readers(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const std::size_t read : nodes[i].reads) readers[read].push_back(i);
    }
    return readers;
}

/// Assigns layers: nodes above their readers; inputs directly above their first reader.
void choose_layers(std::vector<FlowNode>& nodes) {
    for (FlowNode& node : nodes) {
        for (const std::size_t read : node.reads) {
            node.layer = std::max(node.layer, nodes[read].layer + 1);
        }
    }
    const Neighbours readers = readers_of(nodes);
    for (std::size_t i = nodes.size(); i-- > 0;) {
        if (!nodes[i].reads.empty() || readers[i].empty()) continue;
        std::size_t first = std::numeric_limits<std::size_t>::max();
        for (const std::size_t reader : readers[i]) first = std::min(first, nodes[reader].layer);
        nodes[i].layer = first - 1;
    }
}

/// Splits arrows that pass a layer into pieces from layer to layer.
void add_bends(std::vector<FlowNode>& nodes) {
    const std::size_t boxes = nodes.size();
    for (std::size_t i = 0; i < boxes; ++i) {
        for (std::size_t r = 0; r < nodes[i].reads.size(); ++r) {
            std::size_t from = nodes[i].reads[r];
            for (std::size_t layer = nodes[from].layer + 1; layer < nodes[i].layer; ++layer) {
                nodes.push_back({12, {from}, true, layer, 0});
                from = nodes.size() - 1;
            }
            nodes[i].reads[r] = from;
        }
    }
}

double mean_of(const std::vector<double>& places, const std::vector<std::size_t>& of, double own) {
    if (of.empty()) return own;
    double sum = 0;
    for (const std::size_t i : of) sum += places[i];
    return sum / static_cast<double>(of.size());
}

/// Returns how strongly node `i` is pulled to `other`, at the other end of an arrow. Computed boxes
/// form a straight column; inputs follow their readers, and a long arrow runs straight down from
/// its box and bends once, at its reader.
double pull(const FlowNode& i, const FlowNode& other) {
    constexpr double strong = 8, medium = 2, weak = 0.001;
    const auto is_given = [](const FlowNode& node) { return node.reads.empty(); };
    const FlowNode& lower = i.layer < other.layer ? other : i;
    if (i.is_bend || other.is_bend) return lower.is_bend ? medium : weak;
    return is_given(i) || is_given(other) ? weak : strong;
}

/// Visits all layers `times` times, down and up alternately.
template <class Visit>
void sweep(Layers& layers, int times, const Visit& visit) {
    for (int i = 0; i < times; ++i) {
        const bool down = i % 2 == 0;
        for (std::size_t step = 0; step < layers.size(); ++step) {
            visit(layers[down ? step : layers.size() - 1 - step], down);
        }
    }
}

/// Orders each layer by the mean place of its nodes' neighbours.
void order_layers(Layers& layers, const std::vector<FlowNode>& nodes, const Neighbours& readers) {
    std::vector<double> place(nodes.size());
    const auto number = [&](const std::vector<std::size_t>& layer) {
        for (std::size_t i = 0; i < layer.size(); ++i) {
            place[layer[i]] = static_cast<double>(i) - static_cast<double>(layer.size() - 1) / 2;
        }
    };
    for (const auto& layer : layers) number(layer);
    sweep(layers, 24, [&](std::vector<std::size_t>& layer, bool down) {
        std::map<std::size_t, double> wanted;
        for (const std::size_t i : layer) {
            wanted[i] = mean_of(place, down ? nodes[i].reads : readers[i], place[i]);
        }
        std::ranges::stable_sort(layer, {}, [&](std::size_t i) { return wanted[i]; });
        number(layer);
    });
}

/// The place that a node's arrows pull it to, and how strongly.
struct Wish {
    double place = 0, weight = 0;
};

/// Finds the places closest to the wanted ones that keep order and distance: isotonic regression by
/// pooling neighbours that are too close.
void place_layer(const std::vector<std::size_t>& layer, const std::vector<Wish>& wanted,
                 std::vector<FlowNode>& nodes) {
    struct Pool {
        double sum, weight;
        std::size_t count;
    };
    std::vector<double> offsets(layer.size(), 0);
    for (std::size_t i = 1; i < layer.size(); ++i) {
        offsets[i] = offsets[i - 1] + (nodes[layer[i - 1]].width + nodes[layer[i]].width) / 2 + gap;
    }
    std::vector<Pool> pools;
    const auto mean = [](const Pool& pool) { return pool.sum / pool.weight; };
    for (std::size_t i = 0; i < layer.size(); ++i) {
        const auto [place, weight] = wanted[i];
        pools.push_back({weight * (place - offsets[i]), weight, 1});
        while (pools.size() > 1 && mean(pools[pools.size() - 2]) > mean(pools.back())) {
            const Pool last = pools.back();
            pools.pop_back();
            pools.back().sum += last.sum;
            pools.back().weight += last.weight;
            pools.back().count += last.count;
        }
    }
    std::size_t i = 0;
    for (const Pool& pool : pools) {
        for (std::size_t n = 0; n < pool.count; ++n, ++i) {
            nodes[layer[i]].x = mean(pool) + offsets[i];
        }
    }
}

void choose_places(Layers& layers, std::vector<FlowNode>& nodes, const Neighbours& readers) {
    const auto wish_of = [&](std::size_t i) {
        Wish wish;
        const auto add = [&](std::size_t other, double weight) {
            wish.place += weight * nodes[other].x;
            wish.weight += weight;
        };
        for (const std::size_t read : nodes[i].reads) add(read, pull(nodes[i], nodes[read]));
        for (const std::size_t reader : readers[i]) add(reader, pull(nodes[i], nodes[reader]));
        return wish.weight > 0 ? Wish{wish.place / wish.weight, wish.weight} : Wish{nodes[i].x, 1};
    };
    sweep(layers, 80, [&](const std::vector<std::size_t>& layer, bool) {
        place_layer(layer, collected(layer, wish_of), nodes);
    });
    double left = std::numeric_limits<double>::infinity();
    for (const FlowNode& node : nodes) left = std::min(left, node.x - node.width / 2);
    for (FlowNode& node : nodes) node.x -= left;
}

}  // namespace

std::vector<FlowNode> laid_out(std::vector<FlowNode> nodes) {
    if (nodes.empty()) return nodes;
    choose_layers(nodes);
    add_bends(nodes);
    const Neighbours readers = readers_of(nodes);
    Layers layers;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (layers.size() <= nodes[i].layer) layers.resize(nodes[i].layer + 1);
        layers[nodes[i].layer].push_back(i);
    }
    order_layers(layers, nodes, readers);
    choose_places(layers, nodes, readers);
    return nodes;
}

}  // namespace attn
