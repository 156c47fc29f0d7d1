// Sums along an order: running sums, products and ranks, and rules that read their own rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/core/rules/drawn.hpp"

namespace attn {
namespace {

using testing::drawn;

/// The range of the sum for query q and key k.
struct Range {
    const char* text;
    std::function<long(long, long)> first, end;
};

using Numbers = std::vector<double>;

}  // namespace

TEST_SUITE("rules: sums in order") {
    TEST_CASE(
        "a sum continues from the rows before it, to the last bit of a loop from left to right") {
        const std::size_t n = 40;
        const Tensor line{{"key"}, drawn<float>({n})};
        const RuleScope scope{[&](const std::string&) -> const Tensor& { return line; }, {}};
        const auto least = [](long, long k) { return k + 1; };
        const auto last = [](long q, long) { return q + 1; };
        const Range ranges[]{
            {"k + 1..q + 1", least, last},
            {"k + 1..40 - q", least, [](long q, long) { return 40 - q; }},
            {"max(q - 5, k)..q + 1", [](long q, long k) { return std::max(q - 5, k); }, last},
            {"q // 3..q + 1", [](long q, long) { return q / 3; }, last},
            {"k..min(k + q * q, 40)", [](long, long k) { return k; },
             [](long q, long k) { return std::min(k + q * q, 40L); }}};
        for (const Range& range : ranges) {
            for (const std::string word : {"sum", "mean"}) {
                CAPTURE(range.text);
                const Tensor made =
                    evaluate_rule(parse_rule("made[q,k] = if k > q + 3 then 0 else " + word +
                                             " j in " + range.text + ": exp(line[j])"),
                                  {"query", "key"}, {n, n}, DType::float32, scope);
                for (std::size_t i = 0; i < n * n; ++i) {
                    const long q = static_cast<long>(i / n), k = static_cast<long>(i % n);
                    float sum = 0;
                    const long first = range.first(q, k), end = range.end(q, k);
                    for (long j = first; j < end; ++j) {
                        sum += std::exp(static_cast<float>(line.at(static_cast<std::size_t>(j))));
                    }
                    const float count = static_cast<float>(std::max(end - first, 0L));
                    const float right = k > q + 3 ? 0 : word == "mean" ? sum / count : sum;
                    if (std::isnan(right)) continue;
                    REQUIRE(static_cast<float>(made.at(i)) == right);
                }
            }
        }
    }
    TEST_CASE("nested sums are computed once for all cells that share them") {
        const std::size_t tokens = 480;
        Array<float> equal = empty_array<float>({tokens, tokens});
        equal.fill(3);
        const Tensor table{{"query", "key"}, std::move(equal)};
        const RuleScope scope{[&](const std::string&) -> const Tensor& { return table; }, {}};
        // Each row divided by the sum of another: keepdims left out.
        const Tensor weights =
            evaluate_rule(parse_rule("weights[q,k] = exp(scores[q,k] - (max i: scores[k,i])) / "
                                     "(sum j: exp(scores[k,j] - (max n: scores[k,n])))"),
                          {"query", "key"}, {tokens, tokens}, DType::float32, scope);
        CHECK(weights.at(tokens + 1) == doctest::Approx(1.0 / tokens));
    }
    TEST_CASE("a product with its own index is read in the range given there, and nowhere else") {
        const std::size_t queries = 5, keys = 7, features = 3;
        std::map<std::string, Tensor> tensors;
        tensors.emplace("query", Tensor({"query", "feature"}, drawn<double>({queries, features})));
        tensors.emplace("place", Tensor({"place", "feature"}, drawn<double>({keys, features})));
        tensors.emplace("offset", Tensor({"feature"}, drawn<double>({features})));
        tensors.emplace("large", Tensor({"row", "feature"}, drawn<double>({900, features})));
        const RuleScope scope{
            [&](const std::string& name) -> const Tensor& { return tensors.at(name); }, {}};
        const auto dot = [&](std::size_t q, const std::string& table, std::size_t row,
                             bool is_offset = false) {
            double sum = 0;
            for (std::size_t f = 0; f < features; ++f) {
                const double of_query = tensors.at("query").at(q * features + f);
                const double more = is_offset ? tensors.at("offset").at(f) : 0;
                sum += (of_query + more) * tensors.at(table).at(row * features + f);
            }
            return sum;
        };
        const auto distance = [](std::size_t q, std::size_t k) { return q > k ? q - k : k - q; };
        struct Case {
            std::string rule;
            std::function<double(std::size_t, std::size_t)> number;
        };
        const std::vector<Case> cases{
            {"sum f: query[q,f] * place[abs(q - k),f]",
             [&](std::size_t q, std::size_t k) { return dot(q, "place", distance(q, k)); }},
            {"sum f: place[abs(k - q),f] * query[q,f]",
             [&](std::size_t q, std::size_t k) { return dot(q, "place", distance(q, k)); }},
            {"if k > q then 0 else sum f: query[q,f] * place[q - k,f]",
             [&](std::size_t q, std::size_t k) { return k > q ? 0 : dot(q, "place", q - k); }},
            {"sum f: (query[q,f] + offset[f]) * place[(q + k) % 7,f]",
             [&](std::size_t q, std::size_t k) { return dot(q, "place", (q + k) % 7, true); }},
            {"sum f: query[(q + 1) % 5,f] * place[(k + q) % 7,f]",
             [&](std::size_t q, std::size_t k) { return dot((q + 1) % 5, "place", (k + q) % 7); }},
            {"sum f: query[q,f] * query[abs(q - k) % 5,f]",
             [&](std::size_t q, std::size_t k) { return dot(q, "query", distance(q, k) % 5); }},
            // A table of which only a few rows are read.
            {"sum f: query[q,f] * large[100 * q + k,f]",
             [&](std::size_t q, std::size_t k) { return dot(q, "large", 100 * q + k); }}};
        for (const auto& [rule, number] : cases) {
            CAPTURE(rule);
            const Tensor made = evaluate_rule(parse_rule("scores[q,k] = " + rule), {"query", "key"},
                                              {queries, keys}, DType::float64, scope);
            for (std::size_t i = 0; i < made.size(); ++i) {
                CAPTURE(i);
                CHECK(made.at(i) == doctest::Approx(number(i / keys, i % keys)).epsilon(1e-12));
            }
        }
    }
    TEST_CASE(
        "ranges over one row of numbers are merged as loops merge them, and ranks are counted") {
        const std::size_t n = 7;
        const std::vector<double> line{2, -1, 2, 0.5, -INFINITY, 3, 2};
        Array<double> cells = empty_array<double>({n});
        std::ranges::copy(line, cells.data());
        const Tensor numbers({"key"}, cells);
        const RuleScope scope{[&](const std::string&) -> const Tensor& { return numbers; }, {}};
        const auto rows = [&](const std::string& value) {
            return evaluate_rule(parse_rule("made[q,k] = " + value), {"query", "key"}, {n, n},
                                 DType::float64, scope)
                .numbers();
        };
        const Range ranges[]{
            {"0..k + 1", [](long, long) { return 0; }, [](long, long k) { return k + 1; }},
            {"k + 1..q", [](long, long k) { return k + 1; }, [](long q, long) { return q; }},
            {"max(k - 1, 0)..min(k + 2, 7)", [](long, long k) { return std::max(k - 1, 0L); },
             [](long, long k) { return std::min(k + 2, 7L); }},
            {"k..7", [](long, long k) { return k; }, [](long, long) { return 7; }}};
        for (const Range& range : ranges) {
            for (const std::string word : {"sum", "mean", "prod", "max", "min", "argmax"}) {
                CAPTURE(range.text);
                CAPTURE(word);
                const std::vector<double> made =
                    rows(word + " j in " + range.text + ": exp(line[j]) - q");
                for (std::size_t i = 0; i < n * n; ++i) {
                    const long q = static_cast<long>(i / n), k = static_cast<long>(i % n);
                    double sum = 0, product = 1, most = -INFINITY, least = INFINITY;
                    long at = -1, count = 0;
                    for (long j = range.first(q, k); j < range.end(q, k); ++j, ++count) {
                        const double number =
                            std::exp(line[static_cast<std::size_t>(j)]) - static_cast<double>(q);
                        sum += number;
                        product *= number;
                        if (number > most) at = j;
                        most = std::max(most, number);
                        least = std::min(least, number);
                    }
                    const std::map<std::string, double> right{
                        {"sum", sum},      {"mean", sum / static_cast<double>(count)},
                        {"prod", product}, {"max", most},
                        {"min", least},    {"argmax", static_cast<double>(at)}};
                    if (count == 0 && word != "sum" && word != "prod") continue;
                    CHECK(made[i] == doctest::Approx(right.at(word)).epsilon(1e-12));
                }
            }
        }
        // The largest first, and equal ones in order; a number in another sum makes no difference.
        CHECK(rows("rank k: line[k]")[3] == 4);
        const std::vector<double> ranks = rows("rank k: if k > q then -inf else line[k]");
        CHECK(std::vector(ranks.end() - 7, ranks.end()) == Numbers{1, 5, 2, 4, 6, 0, 3});
        CHECK(std::vector(ranks.begin() + 14, ranks.begin() + 21) == Numbers{0, 2, 1, 3, 4, 5, 6});
        const std::vector<double> requested =
            rows("if k < 3 and (rank k: line[k]) < 3 then 1 else 0");
        CHECK(std::vector(requested.begin(), requested.begin() + 7) ==
              Numbers{1, 0, 1, 0, 0, 0, 0});
        CHECK(rows("rank k: line[k] * 0")[1] == 1);  // 0 * inf is nan, which nothing precedes
    }
}

}  // namespace attn
