#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/explain/backward/gradient.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// Random rules: ranges with bounds, index arithmetic, conditions and nested reductions.
class RuleDice {
public:
    RuleDice(unsigned seed, std::size_t tokens, std::size_t features)
        : dice_(seed), tokens_(tokens), features_(features) {}

    std::string rule() {
        scope_ = {{"q", tokens_}, {"k", tokens_}};
        return "w[q,k] = " + real(3);
    }

private:
    using Words = std::vector<std::string>;

    std::size_t below(std::size_t n) { return dice_() % n; }
    std::string one_of(const Words& words) { return words[below(words.size())]; }
    std::string digit(std::size_t first, std::size_t end) {
        return std::to_string(first + below(end - first));
    }
    static std::string joined(const std::string& a, const std::string& sign, const std::string& b) {
        return "(" + a + " " + sign + " " + b + ")";
    }

    std::string whole(int depth) {
        const std::string leaf = below(5) == 0 ? digit(0, 4) : scope_[below(scope_.size())].first;
        if (depth == 0) return leaf;
        switch (below(9)) {
            case 0:
            case 1:
                return joined(whole(depth - 1), one_of({"+", "-"}), whole(depth - 1));
            case 2:
                return joined(whole(depth - 1), "*", digit(1, 4));
            case 3:
                return joined(whole(depth - 1), one_of({"/", "//"}), digit(1, 4));
            case 4:
                return joined(whole(depth - 1), "%", digit(1, 5));
            case 5:
                return one_of({"max(", "min("}) + whole(depth - 1) + ", " + whole(depth - 1) + ")";
            case 6:
                return "(if " + compared(depth - 1) + " then " + whole(depth - 1) + " else " +
                       whole(depth - 1) + ")";
            case 7:
                return joined(whole(depth - 1), "*", whole(depth - 1));
            default:
                return leaf;
        }
    }
    std::string compared(int depth) {
        return joined(whole(depth), one_of({"<", "<=", ">", ">=", "==", "!="}), whole(depth));
    }

    /// A place along an axis; if it may lie outside, the condition that it does not.
    std::string place(std::size_t length, std::string& condition) {
        Words fit;
        for (const auto& [name, count] : scope_) {
            if (count == length) fit.push_back(name);
        }
        const std::string most = std::to_string(length - 1);
        if (!fit.empty() && below(5) < 3) return one_of(fit);
        const std::string any = whole(2);
        switch (below(3)) {
            case 0:
                return any + " % " + std::to_string(length);
            case 1:
                return "max(min(" + any + ", " + most + "), 0)";
            default:
                condition +=
                    (condition.empty() ? "" : " and ") + any + " >= 0 and " + any + " <= " + most;
                // As a number `/` does not round down, and the condition must test the index that
                // is read.
                return any.find('/') == std::string::npos && any.find("if") == std::string::npos
                           ? any
                           : "max(min(" + any + ", " + most + "), 0)";
        }
    }
    std::string cell() {
        const bool is_square = below(3) > 0;
        std::string condition;
        std::string all = is_square ? "s[" : "x[";
        all += place(tokens_, condition) + ", ";
        all += place(is_square ? tokens_ : features_, condition) + "]";
        return condition.empty() ? all : "(if " + condition + " then " + all + " else 1)";
    }

    std::string real(int depth) {
        if (depth == 0) return below(5) == 0 ? one_of({"0.5", "2", "1.5"}) : cell();
        const auto next = [&] { return real(depth - 1); };
        const auto positive = [&] { return "(abs(" + next() + ") + 0.7)"; };
        switch (below(12)) {
            case 0:
                return cell();
            case 1:
                return joined(next(), one_of({"+", "-"}), next());
            case 2:
                return joined(next(), "*", next());
            case 3:
                return joined(next(), one_of({"/", "%"}), positive());
            case 4:
                return joined(positive(), "^", one_of({"2", "3", "1.5", cell()}));
            case 5:
                return one_of({"tanh", "cos", "sin", "abs", "sigmoid", "relu"}) + "(" + next() +
                       ")";
            case 6:
                return one_of({"sqrt", "log"}) + positive();
            case 7:
                return one_of({"max(", "min("}) + next() + ", " + next() + ")";
            case 8:
                return "(if " + compared(1) + " then " + next() + " else " + next() + ")";
            default:
                return reduced(depth);
        }
    }
    std::string reduced(int depth) {
        const std::string index = std::string(1, static_cast<char>('a' + count_ % 10)) +
                                  (count_ < 10 ? "" : std::to_string(count_));
        ++count_;
        const std::string word = one_of({"sum", "sum", "mean", "max", "min"});
        std::string first = "0", end = std::to_string(tokens_);
        std::size_t length = tokens_;
        if (below(3) > 0) {
            length = 99;
            first = below(2) == 0 ? whole(1) : "max(" + whole(1) + ", 0)";
            end = below(2) == 0 ? whole(1) : "min(" + whole(1) + " + 1, " + end + ")";
        }
        scope_.emplace_back(index, length);
        const std::string body = real(depth - 1);
        scope_.pop_back();
        const std::string all =
            "(" + word + " " + index + " in " + first + ".." + end + ": " + body + ")";
        const bool may_be_empty = length == 99 && word != "sum";
        // The range rounds down, as the condition does.
        return may_be_empty
                   ? "(if (sum n in " + first + ".." + end + ": 1) > 0 then " + all + " else 0.5)"
                   : all;
    }

    std::mt19937 dice_;
    std::size_t tokens_, features_;
    std::vector<std::pair<std::string, std::size_t>> scope_;
    std::size_t count_ = 0;
};

/// A rule of s and x, and the tensor it makes of their numbers.
struct Made {
    Rule rule;
    std::map<std::string, Tensor> tensors;

    Made(const std::string& text, std::size_t tokens, std::size_t features) : rule(text) {
        put("s", {"query", "key"}, {tokens, tokens}, 0.7);
        put("x", {"query", "feature"}, {tokens, features}, 1.1);
        put("d_w", {"query", "key"}, {tokens, tokens}, 1.9);
        tensors.emplace("w", tensors.at("d_w"));
    }

    void put(const std::string& name, const Axes& axes, const Shape& shape, double turn) {
        Array<double> cells = empty_array<double>(shape);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] = 1.5 * std::sin(turn * static_cast<double>(i + 1) + 0.3);
        }
        tensors.insert_or_assign(name, Tensor(axes, std::move(cells)));
    }
    Outline outline(const std::string& name) const {
        const Tensor& is = tensors.at(name);
        return {is.axes(), is.shape()};
    }
    Rule whole() const {
        return completed(rule, outline("w"),
                         {[](const std::string& name) { return name; },
                          [&](const std::string& name) { return outline(name); },
                          {}});
    }
    Tensor evaluated(const Rule& of, const std::string& like) const {
        const Outline result = outline(like);
        return evaluate_rule(
            of, result.axes, result.shape, DType::float64,
            {[&](const std::string& name) -> const Tensor& { return tensors.at(name); }, {}});
    }
    double loss() const {
        const Tensor result = evaluated(rule, "w");
        double sum = 0;
        for (std::size_t i = 0; i < result.size(); ++i)
            sum += result.at(i) * tensors.at("d_w").at(i);
        return sum;
    }
    /// None near a kink of the loss.
    std::optional<double> central(const std::string& name, std::size_t cell) const {
        std::vector<double> slopes;
        for (const double h : {1e-5, 3e-6}) {
            double change = 0;
            for (const double sign : {1.0, -1.0}) {
                Made moved = *this;
                Array<double> cells = tensors.at(name).as<double>();
                cells.data()[cell] += sign * h;
                moved.tensors.insert_or_assign(name,
                                               Tensor(tensors.at(name).axes(), std::move(cells)));
                change += sign * moved.loss();
            }
            slopes.push_back(change / (2 * h));
        }
        const double size = std::max(1.0, std::abs(slopes[0]));
        if (!(std::abs(slopes[0] - slopes[1]) < 1e-5 * size) || size > 1e4) return std::nullopt;
        return slopes[0];
    }
};

}  // namespace

TEST_SUITE("rules: by dice") {
    TEST_CASE("the gradient of a rule is its central difference, for any rule") {
        std::size_t compared = 0;
        for (unsigned seed = 1; seed <= 300; ++seed) {
            const std::size_t tokens = 2 + seed % 3, features = 2 + seed / 3 % 2;
            const std::string text = RuleDice(seed, tokens, features).rule();
            CAPTURE(seed);
            CAPTURE(text);
            std::optional<Made> result;
            double loss = 0;
            try {
                result.emplace(text, tokens, features);
                loss = result->loss();
                result->tensors.insert_or_assign("w", result->evaluated(result->rule, "w"));
            } catch (const ConfigError&) {
                continue;  // It reads outside of a tensor.
            }
            if (!std::isfinite(loss)) continue;
            for (const std::string name : {"s", "x"}) {
                const RuleTree tree =
                    gradient_of(result->whole(), name, {"t", "o"},
                                [&](const std::string& of) { return result->outline(of); });
                const Rule gradient{
                    "", "d_" + name, {"t", "o"}, tree == nullptr ? number_node(0) : tree};
                // The printed rule is the evaluated one, and it states the ranges of its sums.
                CAPTURE(rule_text(gradient));
                const Tensor numbers = result->evaluated(gradient, name);
                for (std::size_t cell = 0; cell < numbers.size(); ++cell) {
                    const std::optional<double> central = result->central(name, cell);
                    if (!central) continue;
                    CAPTURE(cell);
                    CHECK(numbers.at(cell) ==
                          doctest::Approx(*central).epsilon(1e-5).scale(std::abs(*central) + 1));
                    ++compared;
                }
            }
        }
        CHECK(compared > 1500);
    }
}

}  // namespace attn
