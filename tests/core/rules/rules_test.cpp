#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/core/rules/drawn.hpp"

namespace attn {
namespace {

using testing::drawn;

/// Two queries, three keys, two features; and a tensor of integers.
const Tensor query{{"query", "feature"}, Array<double>{{1, 2}, {3, 4}}};
const Tensor key{{"key", "feature"}, Array<double>{{1, 0}, {0, 1}, {1, 1}}};
const Tensor ids{{"token"}, Array<std::int64_t>{2, 0}};

Tensor made(const std::string& rule, const Axes& axes, const Shape& shape) {
    const RuleScope scope{[](const std::string& name) -> const Tensor& {
                              if (name == "query") return query;
                              if (name == "key") return key;
                              if (name == "ids") return ids;
                              throw ConfigError("there is no tensor '" + name + "' here");
                          },
                          {{"D", 2}}};
    return evaluate_rule(parse_rule(rule), axes, shape, DType::float64, scope);
}

std::vector<double> scores(const std::string& expression) {
    return made("scores[q,k] = " + expression, {"query", "key"}, {2, 3}).numbers();
}

/// The error message for an invalid rule.
std::string rule_refusal(const std::string& expression) {
    try {
        scores(expression);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return {};
}

using Numbers = std::vector<double>;

}  // namespace

TEST_SUITE("rules") {
    TEST_CASE("answers known on paper") {
        CHECK(scores("sum f: query[q,f] * key[k,f]") == Numbers{1, 2, 3, 3, 4, 7});
        CHECK(scores("q * 10 + k") == Numbers{0, 1, 2, 10, 11, 12});
        CHECK(scores("2 ^ 3 ^ 2 - -1") == Numbers(6, 513));
        CHECK(scores("7 % 4 - 1 - 1") == Numbers(6, 1));
        CHECK(scores("max f: query[q,f]") == Numbers{2, 2, 2, 4, 4, 4});
        CHECK(scores("mean f: key[k,f]") == Numbers{0.5, 0.5, 1, 0.5, 0.5, 1});
        CHECK(scores("if k > q then -inf else 1")[1] == -INFINITY);
    }
    TEST_CASE("functions and reductions of published attentions") {
        CHECK(scores("prod f: query[q,f] + k") == Numbers{2, 6, 12, 12, 20, 30});
        CHECK(scores("prod j in k..k: 5") == Numbers(6, 1));
        CHECK(scores("argmax f: key[k,f]") == Numbers{0, 1, 0, 0, 1, 0});
        CHECK(scores("query[q, argmax f: key[k,f]]") == Numbers{1, 2, 1, 3, 4, 3});
        CHECK(scores("argmax j in 1..3: -inf") == Numbers(6, 1));
        CHECK(scores("rank k: key[k,0]") == Numbers{0, 2, 1, 0, 2, 1});
        CHECK(scores("query[q, floor(sum f: sigmoid(key[k,f]) / 4)]") == Numbers{1, 1, 1, 3, 3, 3});
        CHECK(scores("clamp(query[q,0] * k, 1, 4)") == Numbers{1, 1, 2, 1, 3, 4});
        CHECK(scores("sign(k - 1) + 7 // 2") == Numbers{2, 3, 4, 2, 3, 4});
        const auto first = [](const std::string& expression) { return scores(expression)[0]; };
        CHECK(first("silu(1)") == doctest::Approx(1 / (1 + std::exp(-1.0))));
        CHECK(first("softplus(-800) + softplus(800)") == 800);
        CHECK(first("logsigmoid(-800)") == -800);
        CHECK(first("elu(-1) + elu(2)") == doctest::Approx(1 + std::exp(-1.0)));
        CHECK(first("gelu(1) - (1 + erf(sqrt(0.5))) / 2") == doctest::Approx(0));
    }
    TEST_CASE("the grammar is what the parser reads") {
        // The rules of the grammar, each a list of words; random rules are generated from them.
        std::map<std::string, std::vector<std::string>> rules;
        std::istringstream words(rule_grammar());
        std::string name;
        for (std::string word; words >> word;) {
            if (word == "=") continue;
            if (word == ".") {
                name.clear();
            } else if (name.empty()) {
                name = word;
            } else {
                rules[name].push_back(word);
            }
        }
        CHECK(rules.size() == 15);
        std::string spoken;
        for (const auto& [rule, reported] : rules) {
            for (const std::string& word : reported) spoken += word + " ";
        }
        for (const RuleFunction& each : rule_functions()) {
            CHECK_MESSAGE(spoken.find("\"" + std::string(each.name) + "\"") != spoken.npos,
                          each.name);
        }
        std::uint32_t state = 1;
        const auto below = [&](std::size_t n) {
            state = state * 1664525U + 1013904223U;
            return (state >> 16U) % n;
        };
        std::string made;
        const std::function<void(const std::string&, int)> make = [&](const std::string& rule,
                                                                      int deep) {
            const std::vector<std::string>& reported = rules.at(rule);
            const std::function<void(std::size_t, std::size_t)> group = [&](std::size_t at,
                                                                            std::size_t end) {
                // The alternatives of this stretch, one of which is chosen.
                std::vector<std::size_t> starts{at};
                int inside = 0;
                for (std::size_t i = at; i < end; ++i) {
                    const std::string& word = reported[i];
                    if (word == "(" || word == "[" || word == "{") ++inside;
                    if (word == ")" || word == "]" || word == "}") --inside;
                    if (word == "|" && inside == 0) starts.push_back(i + 1);
                }
                const std::size_t chosen = deep > 12 ? 0 : below(starts.size());
                std::size_t i = starts[chosen];
                const std::size_t stop = chosen + 1 < starts.size() ? starts[chosen + 1] - 1 : end;
                while (i < stop) {
                    const std::string& word = reported[i];
                    if (word == "(" || word == "[" || word == "{") {
                        std::size_t close = i + 1;
                        for (int open = 1; open > 0; ++close) {
                            const std::string& next = reported[close];
                            if (next == "(" || next == "[" || next == "{") ++open;
                            if (next == ")" || next == "]" || next == "}") --open;
                        }
                        const bool is_grouped = word == "(" || (deep < 12 && below(3) == 0);
                        if (is_grouped) group(i + 1, close - 1);
                        i = close;
                        continue;
                    }
                    if (word[0] == '"') {
                        made += " " + word.substr(1, word.size() - 2);
                    } else if (word == "name") {
                        made += std::string(" ") + static_cast<char>('a' + below(26)) + "1";
                    } else if (word == "number") {
                        made += " 2.5";
                    } else {
                        // These extend as far as possible.
                        const bool is_open = word == "reduction" || word == "choice";
                        if (is_open) made += " (";
                        make(word, deep + 1);
                        if (is_open) made += " )";
                    }
                    ++i;
                }
            };
            group(0, reported.size());
        };
        for (int i = 0; i < 400; ++i) {
            made.clear();
            make("expression", 0);
            INFO(made);
            CHECK_NOTHROW(parse_expression(made));
        }
    }
    TEST_CASE("an if evaluates one side only: a cell outside the tensor is not read there") {
        CHECK(scores("if k >= 1 then key[k - 1, 0] else 9") == Numbers{9, 1, 0, 9, 1, 0});
        CHECK(scores("if k == 0 then 1 else 0 / k") == Numbers{1, 0, 0, 1, 0, 0});
        CHECK(scores("if k > 0 and key[k - 1, 0] == 0 then 1 else 2") == Numbers{2, 2, 1, 2, 2, 1});
        CHECK(scores("if k == 0 or key[k - 1, 0] == 0 then 1 else 2") == Numbers{1, 2, 1, 1, 2, 1});
    }
    TEST_CASE("a sum runs over its range, which may differ for every cell; over nothing it is 0") {
        CHECK(scores("sum j in 0..k: j") == Numbers{0, 0, 1, 0, 0, 1});
        CHECK(scores("sum j in k..k: 5") == Numbers(6, 0));
        CHECK(scores("max j in 0..q: 1")[0] == -INFINITY);
    }
    TEST_CASE("indices are integers, rounded down, and cells of integers") {
        CHECK(scores("key[ids[q], k / 2]") == Numbers{1, 1, 1, 1, 1, 0});
        CHECK(scores("key[(k + 5) % 3, 0]") == Numbers{1, 1, 0, 1, 1, 0});
        CHECK(scores("key[(q + k + 1) % 3, q * (3 / 2)]") == Numbers{0, 1, 1, 1, 0, 1});
        CHECK(scores("key[(k + ids[q] / 2) % 3, q]") == Numbers{0, 1, 1, 0, 1, 1});
        CHECK(scores("(sum j in 0..7 / 2: 1) + 7 / 2") == Numbers(6, 6.5));
    }
    TEST_CASE("// rounds down everywhere, and floor(...) takes any number") {
        CHECK(scores("k // 2 + q") == Numbers{0, 0, 1, 1, 1, 2});
        CHECK(scores("-k // 2") == Numbers{0, -1, -1, 0, -1, -1});
        CHECK(scores("key[k // 2, 0]") == Numbers{1, 1, 0, 1, 1, 0});
        CHECK(scores("if q // 2 == k // 2 then 1 else 0") == Numbers{1, 1, 0, 1, 1, 0});
        CHECK(scores("key[floor(sum f: sigmoid(query[q,f]) * key[1,f]), 0]") ==
              Numbers{1, 1, 1, 1, 1, 1});
        CHECK(scores("key[floor((max f: query[q,f]) / 4), 0]") == Numbers{1, 1, 1, 0, 0, 0});
    }
    TEST_CASE("a line break in a rule is a space") {
        CHECK(parse_rule("a[q] = 1\n+ 2").text == "a[q] = 1 + 2");
    }
    TEST_CASE("a complete rule states its ranges, quotients and types, and stays the same") {
        const Outline made{{"query", "key"}, {2, 3}};
        const RuleNames names{[](const std::string& name) { return name; },
                              [](const std::string& name) {
                                  return name == "query" ? Outline{{"query", "feature"}, {2, 2}}
                                                         : Outline{{"key", "feature"}, {3, 2}};
                              },
                              {{"D", 2}}};
        const auto whole = [&](const std::string& text) {
            return completed(parse_rule("scores[q,k] = " + text), made, names);
        };
        const Rule sum = whole("sum f: query[q,f] * key[k / 2,f]");
        CHECK(sum.value->parts.size() == 3);
        CHECK(is_number(*sum.value->parts[1], 2));
        CHECK(rule_text(sum) == "scores[q,k] = sum f: query[q,f] * key[k / 2,f]");
        CHECK(is_operation(*sum.value->parts[2]->parts[1]->parts[0], "//"));
        CHECK(same_tree(*completed(sum, made, names).value, *sum.value));
        CHECK(rule_text(whole("sum f in 0..1: query[q,f]")).ends_with("sum f in 0..1: query[q,f]"));
        CHECK(rule_text(whole("k // 2 + k / D")).ends_with("floor(k / 2) + k / 2"));
        CHECK(whole("k // 2").value->type == RuleType::whole);
        CHECK(whole("k / 2").value->type == RuleType::number);
        CHECK(whole("if k > q then query[q,0] > 0 else q == 1").value->type == RuleType::truth);
    }
    TEST_CASE("remarks: sizes that only happen to be equal, quotients that are compared") {
        const Outline made{{"query", "key"}, {4, 4}};
        const RuleNames names{[](const std::string& name) { return name; },
                              [](const std::string& name) {
                                  return name == "scores" ? Outline{{"query", "key"}, {4, 4}}
                                                          : Outline{{"query", "feature"}, {4, 4}};
                              },
                              {}};
        const auto remarks = [&](const std::string& text) {
            const Rule whole = completed(parse_rule("w[q,k] = " + text), made, names);
            std::string all;
            for (const std::string& each : remarks_on(whole, made, true)) all += each + "|";
            return all;
        };
        CHECK(remarks("scores[k,q] + (sum f: query[q,f] * query[k,f])").empty());
        CHECK(remarks("query[q,k]")
                  .find("k goes over axis key in w and over axis feature in "
                        "query") == 0);
        CHECK(remarks("if q / 2 == k / 2 then 1 else 0").find("write q // 2") != std::string::npos);
        CHECK(remarks("if q // 2 == k // 2 or abs(q - k) / 2 > 1 then 1 else 0").empty());
        CHECK(remarks("sum i in 0..99999999: 1").find("stops growing") != std::string::npos);
    }
    TEST_CASE("a sum is computed once for the indices that it needs") {
        const std::size_t tokens = 256, features = 32;
        const Tensor x{{"token", "feature"}, drawn<float>({tokens, features})};
        const RuleScope scope{[&](const std::string&) -> const Tensor& { return x; }, {}};
        const auto context = [&](const std::string& text) {
            return evaluate_rule(parse_rule(text), {"token", "feature"}, {tokens, features},
                                 DType::float32, scope);
        };
        // Evaluated again for every query, this would exceed the limit on a rule's work.
        const std::string inner =
            "(sum f: sum g: x[k,f] * x[k,g] * (sum m: relu(x[m,f]) * relu(x[m,g])))";
        const Tensor made = context("y[t,c] = x[t,c] * sum k: x[k,c] * " + inner);
        CHECK(std::isfinite(made.at(5)));
    }
    TEST_CASE("threads change no bit and no message") {
        const std::size_t heads = 4, tokens = 130, features = 48;
        const Tensor x{{"head", "token", "feature"}, drawn<float>({heads, tokens, features})};
        const Axes axes{"head", "query", "key"};
        const auto made = [&](const std::string& text, const Shape& shape, std::size_t threads) {
            RuleScope scope{
                [&](const std::string&) -> const Tensor& { return x; }, {}, Outline{axes, shape}};
            scope.threads = threads;
            try {
                const Tensor tensor =
                    evaluate_rule(parse_rule(text), axes, shape, DType::float32, scope);
                return std::pair(tensor.numbers(), std::string());
            } catch (const Error& error) {
                return std::pair(std::vector<double>(), std::string(error.what()));
            }
        };
        const std::vector<std::pair<std::string, Shape>> rules{
            {"y[h,q,k] = sum f: tanh(x[h,q,f] * x[h,k,f])", {heads, tokens, tokens}},
            {"y[h,q,k] = sum t in k + 1..q + 1: sum f: sin(x[h,t,f])", {heads, tokens, tokens}},
            {"y[h,q,k] = sum f: exp(x[h, 2 * q - k, f])", {heads, tokens, tokens}},
            {"y[h,q,k] = if q == 0 then x[h,q,k] else 0.5 * y[h,q - 1,k] + sum f: sum g: "
             "cos(x[h,q,f] + x[h,q,g])",
             {heads, tokens, features}}};
        for (const auto& [text, shape] : rules) {
            CAPTURE(text);
            const auto alone = made(text, shape, 1);
            CHECK(alone.first.empty() == (&text == &rules[2].first));
            for (const std::size_t threads : {2U, 5U}) CHECK(made(text, shape, threads) == alone);
        }
    }
    TEST_CASE("wrong calls are refused") {
        const RuleScope scope{[](const std::string&) -> const Tensor& { return query; }, {}};
        const Axes axes{"query"};
        const Rule one("a[q] = 1");
        CHECK_THROWS_AS(evaluate_rule(one, axes, {2}, DType::int64, scope), ConfigError);
        CHECK_THROWS_AS(evaluate_rule(one, axes, {2}, DType::boolean, scope), ConfigError);
        CHECK_THROWS_AS(evaluate_rule(one, axes, {2}, DType::float32, {}), ConfigError);
        CHECK_THROWS_AS(evaluate_rule(Rule(), axes, {2}, DType::float32, scope), ConfigError);
        CHECK_THROWS_AS(evaluate_rule(one, axes, {2, 3}, DType::float32, scope), ShapeError);
        CHECK_THROWS_AS(
            evaluate_rule(Rule("a[q,k] = 1"), {"query", "key"},
                          {std::size_t{1} << 32, std::size_t{1} << 32}, DType::float32, scope),
            ShapeError);
        CHECK(tensors_read(Rule()).empty());
        CHECK_THROWS_AS(rule_text(Rule()), ConfigError);
        CHECK_THROWS_AS(expression_text(RuleNode{.kind = RuleNode::Kind::operate, .word = "+"}),
                        ConfigError);
        CHECK_THROWS_AS(expression_text(RuleNode{.kind = RuleNode::Kind::choose}), ConfigError);
        CHECK_THROWS_AS(changed(nullptr, [](const RuleNode&) { return nullptr; }), ConfigError);
        CHECK_THROWS_AS(completed(one, {{"query"}, {2}}, {}), ConfigError);
        const Rule itself("a[q] = a[q]");
        CHECK_THROWS_AS(inlined(itself, [&](const std::string&) { return std::optional(itself); }),
                        ConfigError);
        CHECK_THROWS_AS(inlined(itself, {}), ConfigError);
    }
    TEST_CASE("half is the nearest 16-bit float, ties to even, inf beyond the last") {
        CHECK(scores("half(2048 + k)") == Numbers{2048, 2048, 2050, 2048, 2048, 2050});
        CHECK(scores("half(1 + k / 4096)") == Numbers{1, 1, 1, 1, 1, 1});
        CHECK(scores("half(0.1)")[0] == 0.0999755859375);
        CHECK(scores("half(-65504 - 16 * q)") ==
              Numbers{-65504, -65504, -65504, -INFINITY, -INFINITY, -INFINITY});
        CHECK(scores("half(2 ^ -25 * (q + 1))") == Numbers{0, 0, 0, 0x1p-24, 0x1p-24, 0x1p-24});
    }
    TEST_CASE("nan and inf are as IEEE says") {
        CHECK(std::isnan(scores("0 * (0 / 0)")[0]));
        CHECK(std::isnan(scores("relu(0 / 0)")[0]));
        CHECK(std::isnan(scores("max(0 / 0, 1)")[0]));
        CHECK(std::isnan(scores("inf - inf")[0]));
    }
    TEST_CASE("an error is reported above a caret at its place") {
        CHECK(rule_refusal("sum f: query[q,f] * key[k + 1,f]") ==
              "there is no key 3 in key, which has 3: test first, as in if t >= 2 then ...[t - 2] "
              "else 0\n  scores[q,k] = sum f: query[q,f] * key[k + 1,f]\n"
              "                                    ^");
        const std::string begin = "scores[q,k] = ";
        const auto refused = [&](const std::string& expression, const std::string& message,
                                 std::size_t place) {
            INFO(expression);
            const std::string reported = rule_refusal(expression);
            CHECK(reported.find(message) != std::string::npos);
            CHECK(reported.ends_with("\n  " + begin + expression + "\n  " +
                                     std::string(begin.size() + place, ' ') + "^"));
        };
        refused("quary[q,f]", "there is no tensor 'quary' here", 0);
        refused("query[q,z]", "nothing binds 'z'", 8);
        refused("sum f: query[q,f] * key[f,k]", "f is 2 in query and 3 in key", 24);
        refused("query[q,0,0]", "3 indices are too many", 0);
        refused("query[0]", "1 index leaves query open", 0);
        refused("key[k + 1, 0]", "there is no key 3 in key", 0);
        refused("key[k * 0.5, 0]", "an index must be an integer", 8);
        refused("1 + (k > q)", "a number, not a boolean", 7);
        refused("if k then 1 else 2", "expected a boolean", 3);
        refused("sum i: 1", "the range of i is unknown", 0);
        refused("sum q: 1", "the index q is in use", 0);
        refused("exp(1, 2)", "exp takes one number, not 2", 0);
        refused("lgo(1)", "there is no function 'lgo'", 0);
        refused("1 +", "expected a number, a name or a bracket, not the end", 3);
        const std::string brackets(100'000, '[');
        try {
            parse_rule("scores[q,k] = " + brackets);
            FAIL("brackets alone are no rule");
        } catch (const ConfigError& error) {
            CHECK(std::string(error.what()).size() < 700);
        }
        refused("1 ; 2", "no rule holds ';'", 2);
        refused("(1", "a closing bracket", 2);
        refused("1 2", "the expression ends before '2'", 2);
        refused("sum j in 0..1000000000000: 1", "more than 1000000000 numbers", 0);
        refused("query", "query is a tensor, which has", 0);
        refused("prod j: 1", "the range of j is unknown", 0);
        refused("1 + normalise k: query[q,0]",
                "sum, mean, max, min, prod, argmax, rank and softmax do", 4);
        refused("swish(1)", "write silu(x)", 0);
        refused("1e999", "'1e999' is too large", 0);
        refused("key[99999999999999999999, 0]", "an index must be an integer below 1e15", 4);
        refused("key[query[q,0], 0]", "an index is made of integers", 4);
    }
    TEST_CASE("a rule has a maximum length and depth") {
        CHECK_THROWS_AS(parse_rule("a[q] = " + std::string(5000, '1')), ConfigError);
        CHECK_THROWS_AS(parse_rule("a[q] = " + std::string(300, '(') + "1" + std::string(300, ')')),
                        ConfigError);
        CHECK_THROWS_AS(parse_rule("a[q] = " + std::string(300, '-') + "1"), ConfigError);
        CHECK_THROWS_AS(parse_rule(""), ConfigError);
        CHECK_THROWS_AS(parse_rule("a[q,q] = 1"), ConfigError);
    }
}

}  // namespace attn
