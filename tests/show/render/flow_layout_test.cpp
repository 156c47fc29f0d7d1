#include "attn/show/render/layout.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace attn;

namespace {

FlowNode box(std::vector<std::size_t> reads, double width = 100) {
    FlowNode node;
    node.width = width;
    node.reads = std::move(reads);
    return node;
}

/// Checks that the inputs of a box lie right above it, and that no two boxes overlap.
void check_layout(const std::vector<FlowNode>& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const std::size_t read : nodes[i].reads) {
            CHECK_MESSAGE(nodes[read].layer + 1 == nodes[i].layer, read << " and " << i);
        }
        for (std::size_t j = 0; j < i; ++j) {
            if (nodes[i].layer != nodes[j].layer) continue;
            const double distance = std::abs(nodes[i].x - nodes[j].x);
            CHECK_MESSAGE(distance >= (nodes[i].width + nodes[j].width) / 2 + 15, i << " on " << j);
        }
        CHECK(nodes[i].x >= nodes[i].width / 2 - 1e-9);
    }
}

}  // namespace

TEST_SUITE("render: flow layout") {
    TEST_CASE("a chain is in one column") {
        const auto nodes = laid_out({box({}), box({0}), box({1})});
        REQUIRE(nodes.size() == 3);
        CHECK(nodes[0].x == doctest::Approx(nodes[1].x));
        CHECK(nodes[1].x == doctest::Approx(nodes[2].x));
        check_layout(nodes);
    }

    TEST_CASE("a parameter is right above its reader, and a long arrow bends in every layer") {
        // x, then two steps; w is read by the second of them, x by it too.
        const auto nodes = laid_out({box({}), box({}), box({0}), box({2, 1, 0})});
        CHECK(nodes[1].layer == 1);
        REQUIRE(nodes.size() == 5);
        CHECK(nodes[4].is_bend);
        check_layout(nodes);
    }

    TEST_CASE("two chains that meet do not cross") {
        const auto nodes = laid_out({box({}), box({0}), box({0}), box({1}), box({2}), box({4, 3})});
        CHECK((nodes[1].x < nodes[2].x) == (nodes[3].x < nodes[4].x));
        check_layout(nodes);
    }

    TEST_CASE("for any set of arrows, no boxes overlap") {
        std::mt19937 random(7);
        for (int round = 0; round < 60; ++round) {
            std::vector<FlowNode> nodes;
            const std::size_t count = 1 + random() % 25;
            for (std::size_t i = 0; i < count; ++i) {
                std::vector<std::size_t> reads;
                for (std::size_t j = 0; j < i; ++j) {
                    if (random() % 5 == 0) reads.push_back(j);
                }
                nodes.push_back(box(reads, 40 + static_cast<double>(random() % 120)));
            }
            check_layout(laid_out(nodes));
        }
        CHECK(laid_out({}).empty());
    }
}
