// Rotations as other code computes them, in separate plain loops, and their diagnosis.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/judge/diagnose/diagnose.hpp"
#include "attn/judge/mistakes/mistake.hpp"

using namespace attn;

namespace {

using Rows = std::vector<std::vector<double>>;

/// A rotation in other code: its pairs of features, their angle, and its sign.
struct TheirRotation {
    bool halves = true, query = true, key = true, value = false;
    double base = 10000, exponent = 2, sign = 1, query_shift = 0, shift = 0;
    bool back_as_halves = false;  ///< neighbours rotated, stored as two halves
};

constexpr std::size_t their_tokens = 6, their_width = 8, first_position = 3;

Rows rows_of_step(const Tensor& tensor) {
    Rows rows(their_tokens, std::vector<double>(their_width));
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        rows[i / their_width][i % their_width] = tensor.at(i);
    }
    return rows;
}

Rows turned_by_them(const Rows& rows, const TheirRotation& how, double shift) {
    Rows result = rows;
    const std::size_t half = their_width / 2;
    for (std::size_t t = 0; t < rows.size(); ++t) {
        for (std::size_t i = 0; i < half; ++i) {
            const double power = how.exponent * double(i) / double(their_width);
            const double angle =
                how.sign * (double(t + first_position) + shift) / std::pow(how.base, power);
            const std::size_t a = how.halves ? i : 2 * i;
            const std::size_t b = how.halves ? i + half : 2 * i + 1;
            const std::size_t to_a = how.back_as_halves ? i : a;
            const std::size_t to_b = how.back_as_halves ? i + half : b;
            result[t][to_a] = rows[t][a] * std::cos(angle) - rows[t][b] * std::sin(angle);
            result[t][to_b] = rows[t][b] * std::cos(angle) + rows[t][a] * std::sin(angle);
        }
    }
    return result;
}

Tensor their_tensor(const Rows& rows) {
    Array<double> cells = empty_array<double>({rows.size(), rows[0].size()});
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells.data()[i] = rows[i / rows[0].size()][i % rows[0].size()];
    }
    return {{"query", "feature"}, std::move(cells)};
}

/// Causal attention of one head on the query, key and value of our walk.
Ledger their_attention(const Ledger& ours, const TheirRotation& how) {
    Rows query = rows_of_step(ours["query"]);
    Rows key = rows_of_step(ours["key"]);
    Rows value = rows_of_step(ours["value"]);
    if (how.query) query = turned_by_them(query, how, how.shift + how.query_shift);
    if (how.key) key = turned_by_them(key, how, how.shift);
    if (how.value) value = turned_by_them(value, how, how.shift);
    Rows context(their_tokens, std::vector<double>(their_width));
    for (std::size_t q = 0; q < their_tokens; ++q) {
        std::vector<double> weights;
        double sum = 0;
        for (std::size_t k = 0; k <= q; ++k) {
            double score = 0;
            for (std::size_t f = 0; f < their_width; ++f) score += query[q][f] * key[k][f];
            weights.push_back(std::exp(score / std::sqrt(double(their_width))));
            sum += weights.back();
        }
        for (std::size_t k = 0; k <= q; ++k) {
            for (std::size_t f = 0; f < their_width; ++f) {
                context[q][f] += weights[k] / sum * value[k][f];
            }
        }
    }
    Ledger theirs;
    theirs.record("rotated_query", their_tensor(query));
    theirs.record("rotated_key", their_tensor(key));
    theirs.record("context", their_tensor(context));
    return theirs;
}

Plan turning_plan(Pairing pairing) {
    WalkConfig config = configured("dtype float64");
    config.head_dim = static_cast<std::int64_t>(their_width);
    config.query_len = static_cast<std::int64_t>(their_tokens);
    for (std::size_t t = 0; t < their_tokens; ++t) {
        config.positions.push_back(static_cast<std::int64_t>(t + first_position));
    }
    config.mask.causal = true;
    config.rotary.pairing = pairing;
    return resolve(config);
}

bool says_mistake(const Diagnosis& diagnosis, const std::string& id) {
    return std::ranges::any_of(diagnosis.findings, [&](const Finding& finding) {
        const auto is_it = [&](const Mistake* mistake) { return mistake && mistake->id == id; };
        return is_it(finding.mistake()) || std::ranges::any_of(finding.as(Role::ties), is_it);
    });
}

}  // namespace

TEST_SUITE("explain: diagnose positions") {
    TEST_CASE(
        "mistakes in other people's rotations are named, from all steps and from the output") {
        struct Case {
            const char* id;
            TheirRotation how;
        };
        const Case cases[]{
            {"rope-style", {.halves = false}},
            {"rope-q-only", {.key = false}},
            {"rope-k-only", {.query = false}},
            {"rope-missing", {.query = false, .key = false}},
            {"rope-value", {.value = true}},
            {"rope-theta", {.base = 500000}},
            {"rope-exponent", {.exponent = 1}},
            {"rope-sign", {.sign = -1}},
            {"rope-offset-q", {.query_shift = -3}},
            {"rope-offset-drift", {.query_shift = 1}},
        };
        const Plan plan = turning_plan(Pairing::half);
        const Ledger given = draw(plan);
        const Ledger ours = walk(plan, given);
        for (const auto& [id, how] : cases) {
            INFO(id);
            const Ledger theirs = their_attention(ours, how);
            CHECK(says_mistake(diagnose(plan, given, theirs), id));
            Ledger end;
            end.record("context", theirs["context"]);
            CHECK(says_mistake(diagnose(plan, given, end), id));
        }
    }

    TEST_CASE("another base next to a query shifted by one: both are named, neither is harmless") {
        const Plan plan = turning_plan(Pairing::half);
        const Ledger given = draw(plan);
        const Ledger theirs = their_attention(walk(plan, given), {.base = 1000, .query_shift = 1});
        const Diagnosis steps = diagnose(plan, given, theirs);
        CHECK(says_mistake(steps, "rope-theta=1e3"));
        CHECK(says_mistake(steps, "rope-offset-drift"));
        for (const Finding& finding : steps.findings) CHECK_FALSE(finding.harmless);

        Ledger end;
        end.record("context", theirs["context"]);
        DiagnoseOptions options;
        options.pairs = true;
        const Diagnosis both = diagnose(plan, given, end, options);
        REQUIRE(both.findings.size() == 1);
        REQUIRE(both.findings[0].as(Role::makes).size() == 2);
        CHECK(both.findings[0].mistake()->id == "rope-theta=1e3");
        CHECK(both.findings[0].as(Role::makes)[1]->id == "rope-offset-drift");
    }

    TEST_CASE("another base with all positions shifted by one: the base alone is a mistake") {
        const Plan plan = turning_plan(Pairing::half);
        const Ledger given = draw(plan);
        const Ledger theirs = their_attention(walk(plan, given), {.base = 1000, .shift = 1});
        const Diagnosis found = diagnose(plan, given, theirs);
        REQUIRE(found.findings.size() == 1);
        REQUIRE(found.findings[0].mistake() != nullptr);
        CHECK(found.findings[0].mistake()->id == "rope-theta=1e3");
        CHECK_FALSE(found.findings[0].as(Role::beside).empty());
    }

    TEST_CASE("a change that affects no score is never accused") {
        struct Case {
            Pairing pairing;
            TheirRotation how;
        };
        const Case cases[]{
            {Pairing::half, {}},
            {Pairing::half, {.shift = 1}},
            {Pairing::half, {.shift = -3}},
            {Pairing::interleaved, {.halves = false}},
            {Pairing::interleaved, {.halves = false, .back_as_halves = true}},
        };
        for (const auto& [pairing, how] : cases) {
            const Plan plan = turning_plan(pairing);
            const Ledger given = draw(plan);
            const Ledger theirs = their_attention(walk(plan, given), how);
            CHECK_FALSE(diagnose(plan, given, theirs).has_mistake());
            Ledger end;
            end.record("context", theirs["context"]);
            CHECK_FALSE(diagnose(plan, given, end).has_mistake());
        }
    }
}
