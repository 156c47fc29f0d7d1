// Other people's programs, line by line: their tensors under the lines that computed them.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/trace/explain.hpp"
#include "attn/judge/trace/product.hpp"

using namespace attn;

namespace {

/// The ways in which a program may differ.
struct Ways {
    double scale = 0.5;  // 1 / sqrt(4)
    bool masks = true, hides_itself = false, masks_late = false;
    bool over_queries = false, merges_flat = false, uses_key_as_value = false;
    bool bends = false;
    std::string names = "q k v";
};

/// Attention over 5 tokens of 12 features with 3 heads, in plain loops: one line for each step.
class Program {
public:
    static constexpr std::size_t tokens = 5, width = 12, heads = 3, features = 4;

    explicit Program(const Ways& ways, unsigned seed = 7) : random_(seed) {
        const Cells x = drawn(tokens * width);
        keep("3:x", {tokens, width}, x);
        std::vector<std::string> names;
        std::istringstream words(ways.names);
        for (std::string word; words >> word;) names.push_back(word);
        std::array<Cells, 3> split;
        for (std::size_t i = 0; i < 3; ++i) {
            const Cells w = drawn(width * width);
            const std::string line = std::to_string(4 + i) + ":";
            keep(line + "W" + names[i], {width, width}, w);
            const Cells made = product(x, w, tokens, width, width);
            keep(line + names[i], {tokens, width}, made);
            split[i] = by_head(made);
            keep(std::to_string(7 + i) + ":" + names[i], {heads, tokens, features}, split[i]);
        }
        attend(ways, split[0], split[1], ways.uses_key_as_value ? split[1] : split[2]);
    }

    Ledger trace;

    /// The lines, 0 for those that belong to no attention.
    Explanation explained() const {
        const Trace all = traced(trace);
        RequestedWalk base;
        return explain(all, base, {});
    }

private:
    using Cells = std::vector<double>;

    Cells drawn(std::size_t count) {
        std::normal_distribution<double> normal;
        Cells cells(count);
        for (double& cell : cells) cell = normal(random_);
        return cells;
    }

    void keep(const std::string& label, const Shape& shape, const Cells& cells) {
        Array<double> array = empty_array<double>(shape);
        std::ranges::copy(cells, array.data());
        trace.record(label, Tensor(numbered_axes(shape.size()), std::move(array)));
    }

    static Cells product(const Cells& a, const Cells& b, std::size_t rows, std::size_t inner,
                         std::size_t columns) {
        Cells made(rows * columns, 0);
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                for (std::size_t k = 0; k < inner; ++k) {
                    made[i * columns + j] += a[i * inner + k] * b[k * columns + j];
                }
            }
        }
        return made;
    }

    static Cells by_head(const Cells& made) {
        Cells split(made.size());
        for (std::size_t t = 0; t < tokens; ++t) {
            for (std::size_t c = 0; c < width; ++c) {
                split[(c / features * tokens + t) * features + c % features] = made[t * width + c];
            }
        }
        return split;
    }

    void attend(const Ways& ways, const Cells& query, const Cells& key, const Cells& value) {
        const Shape square{heads, tokens, tokens};
        Cells scores(heads * tokens * tokens, 0);
        const auto at = [](std::size_t h, std::size_t q, std::size_t k) {
            return (h * tokens + q) * tokens + k;
        };
        const auto each = [&](const auto& f) {
            for (std::size_t h = 0; h < heads; ++h) {
                for (std::size_t q = 0; q < tokens; ++q) {
                    for (std::size_t k = 0; k < tokens; ++k) f(h, q, k);
                }
            }
        };
        each([&](std::size_t h, std::size_t q, std::size_t k) {
            for (std::size_t f = 0; f < features; ++f) {
                scores[at(h, q, k)] +=
                    query[(h * tokens + q) * features + f] * key[(h * tokens + k) * features + f];
            }
        });
        keep("10:s", square, scores);
        for (double& score : scores) score *= ways.scale;
        if (ways.scale != 1) keep("11:s", square, scores);
        if (ways.bends) {
            for (double& score : scores) score = std::sin(score);
            keep("12:t", square, scores);
        }
        const auto is_hidden = [&](std::size_t q, std::size_t k) {
            return ways.masks && (k > q || (ways.hides_itself && k == q));
        };
        each([&](std::size_t h, std::size_t q, std::size_t k) {
            if (is_hidden(q, k) && !ways.masks_late) scores[at(h, q, k)] = -HUGE_VAL;
        });
        if (ways.masks && !ways.masks_late) keep("12:s", square, scores);
        Cells weights(scores.size());
        each([&](std::size_t h, std::size_t q, std::size_t k) {
            double sum = 0;
            for (std::size_t i = 0; i < tokens; ++i) {
                sum += std::exp(scores[ways.over_queries ? at(h, i, k) : at(h, q, i)]);
            }
            weights[at(h, q, k)] = std::exp(scores[at(h, q, k)]) / sum;
        });
        keep("13:p", square, weights);
        if (ways.masks_late) {
            each([&](std::size_t h, std::size_t q, std::size_t k) {
                if (is_hidden(q, k)) weights[at(h, q, k)] = 0;
            });
            keep("14:p", square, weights);
        }
        Cells context(heads * tokens * features, 0), merged(context.size());
        each([&](std::size_t h, std::size_t q, std::size_t k) {
            for (std::size_t f = 0; f < features; ++f) {
                const double part = weights[at(h, q, k)] * value[(h * tokens + k) * features + f];
                context[(h * tokens + q) * features + f] += part;
            }
        });
        keep("15:y", {heads, tokens, features}, context);
        for (std::size_t i = 0; i < context.size(); ++i) {
            const std::size_t h = i / features / tokens, t = i / features % tokens;
            merged[ways.merges_flat ? i : t * width + h * features + i % features] = context[i];
        }
        keep("16:y", {tokens, width}, merged);
        const Cells out = drawn(width * width);
        keep("17:Wo", {width, width}, out);
        keep("17:out", {tokens, width}, product(merged, out, tokens, width, width));
    }

    std::mt19937 random_;
};

/// The first line with a mistake in an explanation, and the mistake; 0 and empty if all is right.
std::pair<std::size_t, std::string> first_mistake(const Explanation& found) {
    for (const ExplainedAttention& each : found.attentions) {
        for (const ExplainedLine& line : each.lines) {
            if (line.verdict == LineVerdict::unknown) return {line.line, "unknown"};
            if (line.verdict == LineVerdict::wrong) {
                return {line.line, line.finding->mistake()->id};
            }
        }
    }
    return {0, ""};
}

std::size_t line_of(const Explanation& found, const std::string& step) {
    for (const ExplainedLine& line : found.attentions.at(0).lines) {
        if (std::ranges::count(line.steps, step) > 0) return line.line;
    }
    return 0;
}

}  // namespace

TEST_SUITE("judge: traces") {
    TEST_CASE(
        "each line of a right program is matched to its step, whatever its tensors are called") {
        for (const char* names : {"q k v", "zeta eta theta", "a1 b1 c1"}) {
            const Explanation found = Program({.names = names}).explained();
            REQUIRE(found.attentions.size() == 1);
            CHECK(found.is_right());
            CHECK(first_mistake(found).first == 0);
            const std::vector<std::pair<std::string, std::size_t>> lines{{"x", 3},
                                                                         {"projected_query", 4},
                                                                         {"projected_value", 6},
                                                                         {"query", 7},
                                                                         {"key", 8},
                                                                         {"value", 9},
                                                                         {"scores", 10},
                                                                         {"scaled_scores", 11},
                                                                         {"weights", 13},
                                                                         {"context", 15},
                                                                         {"merged", 16},
                                                                         {"output", 17},
                                                                         {"masked_scores", 12}};
            for (const auto& [step, line] : lines) {
                CAPTURE(step);
                CHECK(line_of(found, step) == line);
            }
        }
    }

    TEST_CASE("a mistake is named at the line that makes it") {
        const std::vector<std::tuple<Ways, std::size_t, std::string>> all{
            {{.scale = 1 / std::sqrt(12)}, 11, "scale-dmodel"},
            {{.scale = 0.25}, 11, "scale-twice"},
            {{.scale = 2}, 11, "scale-multiplied"},
            {{.scale = 1}, 10, "scale-missing"},
            {{.hides_itself = true}, 12, "causal-diag-minus1"},
            {{.masks = false, .over_queries = true}, 13, "softmax-axis=query"},
            {{.merges_flat = true}, 16, "merge-reshape"},
        };
        for (const auto& [ways, line, id] : all) {
            CAPTURE(id);
            const auto [found_line, mistake] = first_mistake(Program(ways).explained());
            CHECK(found_line == line);
            CHECK(mistake == id);
        }
        const auto [late, why] = first_mistake(Program({.masks_late = true}).explained());
        CHECK(late == 14);
        CHECK(why == "mask-after-softmax");
    }

    TEST_CASE("a temperature is no mistake, and a question") {
        const Explanation found = Program({.scale = 0.5 / 0.7}).explained();
        CHECK(first_mistake(found).first == 0);
        CHECK_FALSE(found.is_right());
        REQUIRE(found.attentions.at(0).questions.size() == 1);
        CHECK(found.attentions[0].questions[0].line == 11);
    }

    TEST_CASE("a change of the scores that no step explains is a question") {
        const Explanation found = Program({.masks = false, .bends = true}).explained();
        CHECK(first_mistake(found).first == 0);
        CHECK_FALSE(found.is_right());
        REQUIRE(found.attentions.at(0).questions.size() == 1);
        CHECK(found.attentions[0].questions[0].line == 12);
    }

    TEST_CASE("layers without a softmax are not attention") {
        Ledger trace;
        std::mt19937 random(3);
        std::normal_distribution<double> normal;
        const auto drawn = [&](const Shape& shape) {
            Array<double> cells = empty_array<double>(shape);
            for (std::size_t i = 0; i < cells.size(); ++i) cells.data()[i] = normal(random);
            return Tensor(numbered_axes(shape.size()), std::move(cells));
        };
        trace.record("1:x", drawn({4, 6}));
        trace.record("2:w", drawn({6, 9}));
        const std::vector<double> x = trace["1:x"].numbers(), w = trace["2:w"].numbers();
        Array<double> hidden = empty_array<double>({4, 9});
        for (std::size_t i = 0; i < hidden.size(); ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < 6; ++k) sum += x[i / 9 * 6 + k] * w[k * 9 + i % 9];
            hidden.data()[i] = std::max(sum, 0.0);
        }
        trace.record("3:h", Tensor(numbered_axes(2), std::move(hidden)));
        const Trace all = traced(trace);
        CHECK(explain(all, {}, {}).attentions.empty());
    }

    TEST_CASE("the iterations of a loop form one more axis") {
        Ledger trace;
        for (const int pass : {0, 1, 2}) {
            Array<double> row = empty_array<double>({2});
            row.data()[0] = pass;
            row.data()[1] = 10 + pass;
            trace.record("model.py:7:row@" + std::to_string(pass),
                         Tensor(numbered_axes(1), std::move(row)));
        }
        const Trace all = traced(trace);
        REQUIRE(all.size() == 4);
        CHECK(all.front().is_row);
        const Traced& joined = all.back();
        CHECK(joined.is_joined);
        CHECK(joined.shape == Shape{3, 2});
        CHECK(joined.all == std::vector<double>{0, 10, 1, 11, 2, 12});
        CHECK(joined.file == "model.py");
        CHECK(joined.line == 7);
        CHECK(joined.name == "row");
    }

    TEST_CASE("a product is found in any order of axes, and a wrong one is not") {
        std::mt19937 random(5);
        std::normal_distribution<double> normal;
        const auto drawn = [&](Shape shape) {
            Traced made;
            made.shape = std::move(shape);
            made.dtype = DType::float64;
            made.all.resize(element_count(made.shape));
            for (double& cell : made.all) cell = normal(random);
            return made;
        };
        const Traced a = drawn({2, 4, 3}), b = drawn({5, 3, 2});  // (h, q, f) and (k, f, h)
        Traced result = drawn({4, 2, 5});                         // (q, h, k)
        for (std::size_t i = 0; i < result.all.size(); ++i) {
            const std::size_t q = i / 10, h = i / 5 % 2, k = i % 5;
            double sum = 0;
            for (std::size_t f = 0; f < 3; ++f) {
                sum += a.all[(h * 4 + q) * 3 + f] * b.all[(k * 3 + f) * 2 + h];
            }
            result.all[i] = 3 * sum;
        }
        const auto found = contraction_of(result, a, b, nullptr, true);
        REQUIRE(found);
        CHECK(found->a == std::vector<int>{1, 0, -1});
        CHECK(found->b == std::vector<int>{2, -1, 1});
        CHECK(found->factor == doctest::Approx(3));
        CHECK_FALSE(contraction_of(result, a, b, nullptr, false));
        result.all[3] += 0.1;
        CHECK_FALSE(contraction_of(result, a, b, nullptr, true));
    }
}
