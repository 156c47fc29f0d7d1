// The rule that JSON prints for each computed step gives its numbers from the tensors before it.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attn/core/rules/evaluate.hpp"
#include "attn/core/rules/print.hpp"
#include "tests/support/program.hpp"

using namespace attn;
using nlohmann::json;
using program::run;

namespace {

double number(const json& cell) {
    if (cell.is_boolean()) return cell.get<bool>() ? 1 : 0;
    if (cell.is_number()) return cell.get<double>();
    const std::string word = cell.is_string() ? cell.get<std::string>() : "nan";
    return word == "inf" ? INFINITY : word == "-inf" ? -INFINITY : NAN;
}

void gather(const json& data, std::vector<double>& numbers) {
    if (!data.is_array()) return numbers.push_back(number(data));
    for (const json& part : data) gather(part, numbers);
}

Tensor tensor_of(const json& step) {
    std::vector<double> numbers;
    gather(step["data"], numbers);
    const Axes axes = step["axes"].get<Axes>();
    const Shape shape = step["shape"].get<std::vector<std::size_t>>().empty()
                            ? Shape{}
                            : Shape(step["shape"].begin(), step["shape"].end());
    const auto as = [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> cells = empty_array<T>(shape);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            cells.data()[i] = static_cast<T>(numbers[i]);
        }
        return {axes, std::move(cells)};
    };
    if (step["dtype"] == "bool") return as(false);
    return step["dtype"] == "int64" ? as(std::int64_t{0}) : as(0.0);
}

bool close(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

/// Returns the number of steps with a rule; compares each rule with its numbers.
std::size_t check_rules(const std::string& walk) {
    INFO(walk);
    const json document = json::parse(run(walk + " --dtype float64 --format json").out);
    std::map<std::string, Tensor> before;
    std::size_t checked = 0;
    for (const json& step : document["steps"]) {
        const std::string name = step["name"];
        Tensor tensor = tensor_of(step);
        if (step.contains("rule")) {
            INFO(step["rule"]);
            const Rule rule = parse_rule(step["rule"].get<std::string>());
            CHECK(rule.indices.size() == tensor.dimension());
            CHECK(rule_text(rule) == step["rule"]);
            const RuleScope scope{[&](const std::string& read) -> const Tensor& {
                                      const auto found = before.find(read);
                                      REQUIRE(found != before.end());
                                      return found->second;
                                  },
                                  {}};
            const Tensor computed =
                evaluate_rule(rule, tensor.axes(), tensor.shape(), DType::float64, scope);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < tensor.size(); ++i) {
                if (!close(computed.at(i), tensor.at(i))) ++wrong;
            }
            CHECK(wrong == 0);
            ++checked;
        }
        before.insert_or_assign(name, std::move(tensor));
    }
    return checked;
}

}  // namespace

TEST_SUITE("app: rules of steps") {
    TEST_CASE("loop and vectorized compute what the rule of their step says, at awkward sizes") {
        for (const std::string variant : {"loop", "vectorized"}) {
            for (
                const char* walk :
                {"--seq-len 1 --embed-dim 1 --head-dim 1", "--seq-len 2 --embed-dim 3 --head-dim 3",
                 "--seq-len 3 --memory-len 7 --heads 2 --output-projection",
                 "--seq-len 7 --heads 1 --mask causal --bias --output-projection --output-bias",
                 "--seq-len 3 --heads 6 --embed-dim 12 --kv-heads 2 --rope half --mask causal",
                 "--seq-len 2 --past 3 --heads 2 --rope interleaved --mask window:2,causal",
                 "--heads 3 --embed-dim 9 --batch 2 --seq-len 3 --projection fused-by-head",
                 "--heads 3 --embed-dim 9 --memory-len 2 --projection fused --weight-layout in-out",
                 "--heads 2 --batch 2 --lengths 1,3 --seq-len 3 --mask padding --empty-row zero",
                 "--heads 3 --embed-dim 9 --position-bias alibi --sink randn --softcap 3",
                 "--heads 2 --position-bias t5 --seq-len 7 --memory-len 3 --softmax-axis query",
                 "--weights-by sigmoid --heads 3 --embed-dim 9 --mask causal --memory-len 7",
                 "--heads 2 --qk-norm all --x-norm layer --position-embedding sinusoidal",
                 "--heads 2 --mla 3 --mla-query-rank 2 --mla-absorbed",
                 "--heads 2 --mla 3 --batch 2 --mask causal",
                 "--heads 4 --differential --kv-heads 2 --mask chunk:2,causal",
                 "--seq-len 7 --mask causal,dilated:2:3"}) {
                CHECK(check_rules(std::string(walk) + " --variant " + variant) >= 9);
            }
        }
    }
    TEST_CASE("blocks are explained by scores that they never store") {
        CHECK(check_rules("--variant fused --seq-len 7 --heads 2 --sink randn --mask causal") >= 8);
        CHECK(check_rules("--variant fused --seq-len 5 --heads 4 --kv-heads 2 --softcap 2 "
                          "--position-bias alibi --mask window:2") >= 8);
    }
    TEST_CASE("all rules of a walk fit on a screen, with its names and numbers") {
        const std::string rules = run("--mask causal --list-rules").out;
        CHECK(std::count(rules.begin(), rules.end(), '\n') == 13);
        const json list = json::parse(run("--mask causal --heads 2 --list-rules --json").out);
        CHECK(list[2]["rule"] == "projected_key[t,o] = sum c: x[t,c] * w_key[o,c]");
    }
}
