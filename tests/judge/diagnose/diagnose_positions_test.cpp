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
struct UserRotation {
    bool halves = true, query = true, key = true, value = false;
    double base = 10000, exponent = 2, sign = 1, query_shift = 0, shift = 0;
    bool back_as_halves = false;  ///< neighbours rotated, stored as two halves
};

constexpr std::size_t user_tokens = 6, user_width = 8, first_position = 3;

Rows rows_of_step(const Tensor& tensor) {
    Rows rows(user_tokens, std::vector<double>(user_width));
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        rows[i / user_width][i % user_width] = tensor.at(i);
    }
    return rows;
}

Rows rotated_by_user(const Rows& rows, const UserRotation& how, double shift) {
    Rows result = rows;
    const std::size_t half = user_width / 2;
    for (std::size_t t = 0; t < rows.size(); ++t) {
        for (std::size_t i = 0; i < half; ++i) {
            const double power = how.exponent * double(i) / double(user_width);
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

Tensor user_tensor(const Rows& rows) {
    Array<double> cells = empty_array<double>({rows.size(), rows[0].size()});
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells.data()[i] = rows[i / rows[0].size()][i % rows[0].size()];
    }
    return {{"query", "feature"}, std::move(cells)};
}

/// Causal attention of one head on the query, key and value of our walk.
Ledger user_attention(const Ledger& correct, const UserRotation& how) {
    Rows query = rows_of_step(correct["query"]);
    Rows key = rows_of_step(correct["key"]);
    Rows value = rows_of_step(correct["value"]);
    if (how.query) query = rotated_by_user(query, how, how.shift + how.query_shift);
    if (how.key) key = rotated_by_user(key, how, how.shift);
    if (how.value) value = rotated_by_user(value, how, how.shift);
    Rows context(user_tokens, std::vector<double>(user_width));
    for (std::size_t q = 0; q < user_tokens; ++q) {
        std::vector<double> weights;
        double sum = 0;
        for (std::size_t k = 0; k <= q; ++k) {
            double score = 0;
            for (std::size_t f = 0; f < user_width; ++f) score += query[q][f] * key[k][f];
            weights.push_back(std::exp(score / std::sqrt(double(user_width))));
            sum += weights.back();
        }
        for (std::size_t k = 0; k <= q; ++k) {
            for (std::size_t f = 0; f < user_width; ++f) {
                context[q][f] += weights[k] / sum * value[k][f];
            }
        }
    }
    Ledger user_tensors;
    user_tensors.record("rotated_query", user_tensor(query));
    user_tensors.record("rotated_key", user_tensor(key));
    user_tensors.record("context", user_tensor(context));
    return user_tensors;
}

Plan turning_plan(Pairing pairing) {
    WalkConfig config = configured("dtype float64");
    config.head_dim = static_cast<std::int64_t>(user_width);
    config.query_len = static_cast<std::int64_t>(user_tokens);
    for (std::size_t t = 0; t < user_tokens; ++t) {
        config.positions.push_back(static_cast<std::int64_t>(t + first_position));
    }
    config.mask.causal = true;
    config.rotary.pairing = pairing;
    return resolve(config);
}

bool names_mistake(const Diagnosis& diagnosis, const std::string& id) {
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
            UserRotation how;
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
        const Ledger correct = walk(plan, given);
        for (const auto& [id, how] : cases) {
            INFO(id);
            const Ledger user_tensors = user_attention(correct, how);
            CHECK(names_mistake(diagnose(plan, given, user_tensors), id));
            Ledger end;
            end.record("context", user_tensors["context"]);
            CHECK(names_mistake(diagnose(plan, given, end), id));
        }
    }

    TEST_CASE("another base next to a query shifted by one: both are named, neither is harmless") {
        const Plan plan = turning_plan(Pairing::half);
        const Ledger given = draw(plan);
        const Ledger user_tensors =
            user_attention(walk(plan, given), {.base = 1000, .query_shift = 1});
        const Diagnosis steps = diagnose(plan, given, user_tensors);
        CHECK(names_mistake(steps, "rope-theta=1e3"));
        CHECK(names_mistake(steps, "rope-offset-drift"));
        for (const Finding& finding : steps.findings) CHECK_FALSE(finding.harmless);

        Ledger end;
        end.record("context", user_tensors["context"]);
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
        const Ledger user_tensors = user_attention(walk(plan, given), {.base = 1000, .shift = 1});
        const Diagnosis found = diagnose(plan, given, user_tensors);
        REQUIRE(found.findings.size() == 1);
        REQUIRE(found.findings[0].mistake() != nullptr);
        CHECK(found.findings[0].mistake()->id == "rope-theta=1e3");
        CHECK_FALSE(found.findings[0].as(Role::beside).empty());
    }

    TEST_CASE("a change that affects no score is never accused") {
        struct Case {
            Pairing pairing;
            UserRotation how;
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
            const Ledger user_tensors = user_attention(walk(plan, given), how);
            CHECK_FALSE(diagnose(plan, given, user_tensors).has_mistake());
            Ledger end;
            end.record("context", user_tensors["context"]);
            CHECK_FALSE(diagnose(plan, given, end).has_mistake());
        }
    }
}
