#include "attn/explain/backward/gradient.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// Tensors by name, with numbers that look random.
struct World {
    std::map<std::string, Tensor> tensors{};

    World& add(const std::string& name, const Shape& shape, double turn = 0.7) {
        Array<double> cells = empty_array<double>(shape);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] = std::sin(turn * static_cast<double>(i + 1) + 0.3);
        }
        return put(name, std::move(cells));
    }
    template <class T>
    World& put(const std::string& name, Array<T> cells) {
        Axes axes;
        for (std::size_t axis = 0; axis < cells.dimension(); ++axis) {
            axes.push_back("axis" + std::to_string(axis));
        }
        tensors.insert_or_assign(name, Tensor(axes, std::move(cells)));
        return *this;
    }

    Tensor evaluated(const Rule& rule, const std::string& like) const {
        const RuleScope scope{[&](const std::string& name) -> const Tensor& {
                                  const auto found = tensors.find(name);
                                  if (found == tensors.end()) throw ConfigError("no " + name);
                                  return found->second;
                              },
                              {}};
        const Tensor& shape = tensors.at(like);
        return evaluate_rule(rule, shape.axes(), shape.shape(), DType::float64, scope);
    }

    Rule gradient(const std::string& text, const std::string& tensor,
                  const std::vector<std::string>& indices) const {
        const auto outline = [&](const std::string& name) {
            const Tensor& is = tensors.at(name);
            return Outline{is.axes(), is.shape()};
        };
        const Rule rule = parse_rule(text);
        const RuleNames names{[](const std::string& name) { return name; },
                              outline,
                              {},
                              [&](const std::string& name) {
                                  return tensors.at(name).dtype() == DType::int64
                                             ? RuleType::whole
                                             : RuleType::number;
                              }};
        Rule outcome{
            "", "d_" + tensor, indices,
            gradient_of(completed(rule, outline(rule.step), names), tensor, indices, outline)};
        if (outcome.value != nullptr) outcome.text = rule_text(outcome);
        return outcome;
    }

    /// The largest difference between the gradient and central differences, for a loss that is the
    /// weighted sum of the rule's numbers.
    double error(const std::string& text, const std::string& tensor,
                 const std::vector<std::string>& indices) const {
        const Rule rule = parse_rule(text);
        World world = *this;
        world.add("d_" + rule.step, tensors.at(rule.step).shape(), 1.3);
        world.tensors.insert_or_assign(rule.step, evaluated(rule, rule.step));
        // The printed rule is the evaluated one.
        const Rule gradient = parse_rule(world.gradient(text, tensor, indices).text);
        const Tensor outcome = world.evaluated(gradient, tensor);
        const Tensor upstream = world.tensors.at("d_" + rule.step);
        const auto loss = [&](const Array<double>& cells) {
            World moved = *this;
            moved.put(tensor, cells);
            const Tensor result = moved.evaluated(rule, rule.step);
            double sum = 0;
            for (std::size_t i = 0; i < result.size(); ++i) {
                if (std::isfinite(result.at(i))) sum += result.at(i) * upstream.at(i);
            }
            return sum;
        };
        double worst = 0;
        const Array<double> at = tensors.at(tensor).as<double>();
        for (std::size_t i = 0; i < at.size(); ++i) {
            Array<double> more = at;
            Array<double> less = at;
            more.data()[i] += 1e-5;
            less.data()[i] -= 1e-5;
            const double central = (loss(more) - loss(less)) / 2e-5;
            worst = std::max(worst, std::abs(outcome.at(i) - central));
            if (std::isnan(outcome.at(i))) return outcome.at(i);
        }
        return worst;
    }
};

}  // namespace

TEST_SUITE("rules: gradients") {
    TEST_CASE("a plain index drops its sum") {
        World world;
        world.add("query", {2, 3, 4}).add("key", {2, 5, 4}).add("scores", {2, 3, 5});
        const std::string scores = "scores[h,q,k] = sum f: query[h,q,f] * key[h,k,f]";
        CHECK(world.gradient(scores, "query", {"h", "q", "f"}).text ==
              "d_query[h,q,f] = sum k: d_scores[h,q,k] * key[h,k,f]");
        CHECK(world.gradient(scores, "key", {"h", "k", "f"}).text ==
              "d_key[h,k,f] = sum q: d_scores[h,q,k] * query[h,q,f]");
        CHECK(world.error(scores, "key", {"h", "k", "f"}) < 1e-8);
        world.add("query", {2, 1, 4}).add("key", {2, 1, 4}).add("scores", {2, 1, 1});
        CHECK(world.gradient(scores, "key", {"h", "k", "f"}).text ==
              "d_key[h,k,f] = sum q: d_scores[h,q,k] * query[h,q,f]");
        CHECK(world.error(scores, "key", {"h", "k", "f"}) < 1e-8);
    }
    TEST_CASE("a maximum over nothing passes no gradient back") {
        World world;
        world.add("x", {3, 4}).add("y", {3, 4});
        for (const char* range : {"q..k", "max(q - 1, 0)..k", "1..q"}) {
            const std::string rule =
                "y[q,k] = min j in " + std::string(range) + ": x[q,min(j, 2)] * 2";
            CHECK_MESSAGE(world.error(rule, "x", {"q", "f"}) < 1e-8, rule);
        }
    }
    TEST_CASE("a power of 0 has no gradient, as in PyTorch") {
        World world;
        world.put("x", Array<double>{0, -1, 0, 2}).add("y", {4}).add("a", {4});
        for (const char* rule : {"y[q] = x[q] ^ 0", "y[q] = a[q] * x[q] ^ max(q - 2, 0)",
                                 "y[q] = relu(x[q]) ^ (1 + abs(a[q]))", "y[q] = 0 ^ abs(a[q])"}) {
            for (const char* tensor : {"x", "a"}) {
                if (std::string(rule).find(tensor) == std::string::npos) continue;
                if (world.gradient(rule, tensor, {"q"}).value == nullptr) continue;
                CHECK_MESSAGE(world.error(rule, tensor, {"q"}) < 1e-3, rule, " ", tensor);
            }
        }
        // No condition tests a property of the exponent that is known.
        CHECK(world.gradient("y[q] = x[q] ^ (3 / 2)", "x", {"q"}).text.find("if") ==
              std::string::npos);
        CHECK(world.gradient("y[q] = 0.9 ^ x[q]", "x", {"q"}).text.find("if") == std::string::npos);
    }
    TEST_CASE(
        "the gradient of nan is nan, as in PyTorch: factors cancel only if they are positive") {
        World world;
        world.put("x", Array<double>{-1, 0, 2}).add("y", {3}).put("d_y", Array<double>{1, 1, 1});
        for (const char* rule : {"y[q] = sqrt(x[q]) ^ 2", "y[q] = x[q] * (q - 1) / (q - 1)"}) {
            const Tensor gradient = world.evaluated(world.gradient(rule, "x", {"q"}), "x");
            const bool is_root = std::string(rule).find("sqrt") != std::string::npos;
            CHECK_MESSAGE(std::isnan(gradient.at(0)) == is_root, rule);
            CHECK_MESSAGE(std::isnan(gradient.at(1)), rule);
            CHECK(gradient.at(2) == doctest::Approx(1));
        }
        CHECK(world.gradient("y[q] = log(exp(x[q]))", "x", {"q"}).text == "d_x[q] = d_y[q]");
    }
    TEST_CASE("a constant bound receives no gradient, and neither does -1") {
        World world;
        world.put("x", Array<double>{-1, 0, 1}).add("y", {3}).put("d_y", Array<double>{1, 1, 1});
        for (const char* rule : {"y[q] = max(x[q], -1)", "y[q] = clamp(x[q], -1, 1)"}) {
            const Tensor outcome = world.evaluated(world.gradient(rule, "x", {"q"}), "x");
            CHECK(outcome.numbers() == std::vector<double>{1, 1, 1});
        }
    }
    TEST_CASE("deviations from a mean sum to zero") {
        World world;
        world.add("x", {3, 4}).add("y", {3, 4});
        const std::string norm =
            "y[t,c] = (x[t,c] - (mean i: x[t,i])) / sqrt(mean j: (x[t,j] - "
            "(mean i: x[t,i])) ^ 2)";
        CHECK(world.gradient(norm, "x", {"t", "c"}).text.find("16") == std::string::npos);
        CHECK(world.error(norm, "x", {"t", "c"}) < 1e-8);
    }
    TEST_CASE("indices computed from other indices are solved for them") {
        World world;
        world.add("context", {3, 4, 2}).add("merged", {4, 6}).add("w", {6, 5}).add("qkv", {4, 18});
        world.add("present", {7, 2}).add("past", {3, 2}).add("own", {4, 2}).add("even", {3});
        world.add("repeated", {6, 4, 2});
        const auto is = [&](const std::string& rule, const std::string& tensor,
                            const std::vector<std::string>& indices, const std::string& text) {
            CHECK(world.gradient(rule, tensor, indices).text == text);
            CHECK(world.error(rule, tensor, indices) < 1e-8);
        };
        is("merged[t,o] = context[o / 2, t, o % 2]", "context", {"h", "t", "f"},
           "d_context[h,t,f] = d_merged[t,h * 2 + f]");
        is("context[h,t,f] = merged[t, h * 2 + f]", "merged", {"t", "o"},
           "d_merged[t,o] = d_context[o / 2,t,o % 2]");
        is("context[h,t,f] = qkv[t, h * 6 + 2 + f]", "qkv", {"t", "o"},
           "d_qkv[t,o] = if o >= 2 and (o - 2) % 6 < 2 then d_context[(o - 2) / 6,t,(o - 2) % 6] "
           "else 0");
        is("repeated[h,t,f] = context[h / 2, t, f]", "context", {"h", "t", "f"},
           "d_context[h,t,f] = sum i in h * 2..h * 2 + 2: d_repeated[i,t,f]");
        is("present[t,f] = if t < 3 then past[t,f] else own[t - 3,f]", "own", {"t", "f"},
           "d_own[t,f] = d_present[t + 3,f]");
        is("present[t,f] = if t < 3 then past[t,f] else own[t - 3,f]", "past", {"t", "f"},
           "d_past[t,f] = if t < 3 then d_present[t,f] else 0");
        is("even[i] = own[2, 0] * i + own[i + 0, 1]", "own", {"t", "f"},
           "d_own[t,f] = (if t == 2 and f == 0 then (sum i: d_even[i] * "
           "i) else 0) + (if f "
           "== 1 and t < 3 then d_even[t] else 0)");
        is("even[i] = own[i + 0, 1] ^ 2 - 1 / own[i + 1, 0]", "own", {"t", "f"},
           "d_own[t,f] = (if f == 1 and t < 3 then 2 * d_even[t] * own[t,1] else 0) + (if f == 0 "
           "and t >= 1 then d_even[t - 1] / own[t,0]^2 else 0)");
    }
    TEST_CASE("every table, norm and choice: central differences") {
        World world;
        world.add("x", {5, 6})
            .add("y", {5, 6}, 1.1)
            .add("g", {6}, 1.9)
            .add("table", {4, 6})
            .add("s", {5});
        world.put("ids", Array<std::int64_t>{1, 3, 1, 0, 3});
        world.add("cos", {5, 3}).add("sin", {5, 3});
        for (const auto& [rule, tensor, indices] :
             std::vector<std::tuple<std::string, std::string, std::vector<std::string>>>{
                 {"x[t,c] = table[ids[t], c]", "table", {"v", "c"}},
                 {"y[t,f] = x[t,f] / sqrt((mean g: x[t,g]^2) + 0.01) * g[f]", "x", {"t", "f"}},
                 {"y[t,f] = x[t,f] / sqrt((mean g: x[t,g]^2) + 0.01) * g[f]", "g", {"f"}},
                 {"y[t,f] = x[t,f] / max(sqrt(sum g: x[t,g]^2), 0.1)", "x", {"t", "f"}},
                 {"y[t,f] = if f < 3 then x[t,f] * cos[t, f % 3] - x[t,f + 3] * sin[t, f % 3] else "
                  "x[t,f] * cos[t, f % 3] + x[t, f - 3] * sin[t, f % 3]",
                  "x",
                  {"t", "f"}},
                 {"y[t,f] = x[t,f] * cos[t, f / 2] + (if f % 2 == 0 then -x[t, f + 1] else x[t, f "
                  "- "
                  "1]) * sin[t, f / 2]",
                  "x",
                  {"t", "f"}},
                 {"s[t] = max f: x[t,f]", "x", {"t", "f"}},
                 {"s[t] = sum f in 0..t+1: x[t,f] * f", "x", {"t", "f"}},
                 {"s[t] = sum f in 0..t+1: x[f % 5,t + 0] * f", "x", {"t", "f"}},
                 {"y[t,f] = if f > t then -inf else 3 * tanh(x[t,f] / 3)", "x", {"t", "f"}},
                 {"y[t,f] = exp(x[t,f]) / (1 + sum j: exp(x[t,j]))", "x", {"t", "f"}},
                 {"y[t,f] = sigmoid(x[t,f]) * relu(x[t,f]) - abs(x[t,f]) * cos(x[t,f]) / (2 + "
                  "sin(x[t,f]))",
                  "x",
                  {"t", "f"}},
                 {"y[t,f] = log(x[t,f]^2 + 1)^3 - sqrt(2 + x[t,f]) * floor(x[t,f]) + x[t,f] % 0.5",
                  "x",
                  {"t", "f"}},
                 {"y[t,f] = max(x[t,f], g[f]) + min(x[t,f], g[f])^2", "g", {"f"}},
                 {"s[t] = sum f: sum j: x[t,f] * x[t,j] * x[j % 5,f]", "x", {"t", "f"}},
                 {"y[t,f] = 2^x[t,f] + (x[t,f]^2 + 1)^x[t,f]", "x", {"t", "f"}},
                 {"s[t] = mean f in 0..3: x[t, 2 * f + 1] * x[4 - t, 5 - f]", "x", {"t", "f"}},
                 {"y[t,f] = x[(t + 1) % 5, (f + 4) / 2]", "x", {"t", "f"}},
                 {"y[t,f] = x[abs(t - 2), f]", "x", {"t", "f"}},
                 // A sum over nothing, which has no index.
                 {"y[t,f] = sum j in 2..t: x[t,f]", "x", {"t", "f"}},
                 {"y[t,f] = sum j in f..t: x[t,f] * x[t,0]", "x", {"t", "f"}},
                 // Ranges that bound themselves.
                 {"y[t,f] = max j in max(t-1,0)..t+1: if j > 1 then x[t,j] else x[t,0] / 2",
                  "x",
                  {"t", "f"}},
                 {"y[t,f] = x[t,f] / sum j in max(f - 1, 0)..min(f + 2, 6): exp(x[t,j])",
                  "x",
                  {"t", "f"}},
                 {"y[t,f] = sum j in max(t - 1, 0)..t + 1: x[t, if j > 1 then j - 1 else j]",
                  "x",
                  {"t", "f"}},
                 // Quotients that are not integers, and a remainder along a longer axis.
                 {"y[t,f] = x[t, t * f / 4]", "x", {"t", "f"}},
                 {"y[t,f] = x[f % 2, t / 2]", "x", {"t", "f"}},
                 {"y[t,f] = x[f % 2, t // 2] * (t // 2)", "x", {"t", "f"}},
                 {"y[t,f] = x[t, (t + f) / (t + 1) % 6]", "x", {"t", "f"}},
                 // The right side of a remainder.
                 {"y[t,f] = 3 % (abs(x[t,f]) + 2)", "x", {"t", "f"}},
             }) {
            INFO(rule);
            INFO(world.gradient(rule, tensor, indices).text);
            CHECK(world.error(rule, tensor, indices) < 1e-7);
        }
    }
    TEST_CASE("axes of other lengths are read where the index is within both") {
        World world;
        world.add("x", {4, 8}).add("w", {4, 4}).add("v", {4, 3}).add("context", {4, 3});
        world.add("query", {3, 4}).add("value", {3, 4}).add("scores", {3, 3});
        const std::string gated = "context[q,f] = sigmoid(x[q,f + 0]) * (sum k: w[q,k] * v[k,f])";
        // Only the range of the sum keeps j among the tokens: no factor may be moved out of it.
        const std::string guarded =
            "scores[q,k] = (mean j in 0..k + 1: query[q,j] * value[j,j]) - query[q,1]";
        for (const auto& [rule, tensor, indices] :
             std::vector<std::tuple<std::string, std::string, std::vector<std::string>>>{
                 {gated, "v", {"k", "f"}},
                 {gated, "x", {"t", "c"}},
                 {guarded, "query", {"t", "f"}},
                 {guarded, "value", {"t", "f"}}}) {
            const std::string step = parse_rule(rule).step;
            World all = world;
            all.add("d_" + step, world.tensors.at(step).shape(), 1.3);
            const Rule gradient = world.gradient(rule, tensor, indices);
            INFO(gradient.text);
            const Tensor outcome = all.evaluated(gradient, tensor);
            for (std::size_t cell = 0; cell < outcome.size(); ++cell) {
                double change = 0;
                for (const double sign : {1.0, -1.0}) {
                    World moved = world;
                    Array<double> cells = world.tensors.at(tensor).as<double>();
                    cells.data()[cell] += sign * 1e-5;
                    moved.put(tensor, cells);
                    const Tensor result = moved.evaluated(parse_rule(rule), step);
                    for (std::size_t i = 0; i < result.size(); ++i) {
                        change += sign * result.at(i) * all.tensors.at("d_" + step).at(i) / 2e-5;
                    }
                }
                CHECK(outcome.at(cell) == doctest::Approx(change).epsilon(1e-7));
            }
        }
    }
    TEST_CASE("wrong calls are refused") {
        World world;
        world.add("x", {3, 4}).add("y", {3, 4});
        CHECK_THROWS_AS(world.gradient("y[t,f] = x[t,f]", "x", {"t"}), ShapeError);
        const auto outline = [](const std::string&) { return Outline{{"a", "b"}, {3, 4}}; };
        CHECK_THROWS_AS(gradient_of(Rule(), "x", {"t", "f"}, outline), ConfigError);
        CHECK_THROWS_AS(gradient_of(Rule("y[t,f] = x[t,f]"), "x", {"t", "f"}, outline),
                        ConfigError);
        CHECK_THROWS_AS(gradient_of(Rule("y[t,f] = x[t,f]"), "x", {"t", "f"}, {}), ConfigError);
    }
}

}  // namespace attn
