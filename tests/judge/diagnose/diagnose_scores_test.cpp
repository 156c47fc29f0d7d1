// Caps, biases and norms after the rotation, as in other code, and their diagnosis.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

using namespace attn;

namespace {

constexpr std::size_t row_length = 6;
constexpr double head_width = 4;

/// Causal attention of one head, whose scores are changed before softmax.
WalkConfig small_config() {
    WalkConfig config = configured("dtype float64, projection none");
    config.head_dim = static_cast<std::int64_t>(head_width);
    config.query_len = static_cast<std::int64_t>(row_length);
    config.mask.causal = true;
    return config;
}

WalkConfig capped_config() {
    WalkConfig config = small_config();
    config.softcap = 2;
    return config;
}

WalkConfig alibi_config() {
    WalkConfig config = small_config();
    config.position_bias = PositionBias{PositionBias::Kind::alibi, 8, 6, {}};
    return config;
}

/// A tensor of ours with every cell passed through `f`, as a user's numbers.
template <class F>
Tensor actual_of(const Tensor& correct, F f) {
    Array<double> cells = empty_array<double>(correct.shape());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells.data()[i] = f(correct.at(i), i / row_length % row_length, i % row_length);
    }
    return {correct.axes(), std::move(cells)};
}

/// A user's softmax over the keys of each row.
Tensor softmax_of(const Tensor& scores) {
    Array<double> cells = empty_array<double>(scores.shape());
    for (std::size_t row = 0; row < scores.size(); row += row_length) {
        double sum = 0;
        for (std::size_t k = row; k < row + row_length; ++k) sum += std::exp(scores.at(k));
        for (std::size_t k = row; k < row + row_length; ++k) {
            cells.data()[k] = std::exp(scores.at(k)) / sum;
        }
    }
    return {scores.axes(), std::move(cells)};
}

bool mentions(const Finding& finding, const std::string& id) {
    const auto is_it = [&](const Mistake* one) { return one != nullptr && one->id == id; };
    return is_it(finding.mistake()) || std::ranges::any_of(finding.as(Role::ties), is_it);
}

}  // namespace

TEST_SUITE("explain: diagnose scores") {
    TEST_CASE("capped scores that are scaled once more are not called harmless") {
        const Plan plan = resolve(capped_config());
        const Ledger given = draw(plan);
        const Ledger correct = walk(plan, given);
        Ledger user_tensors;
        user_tensors.record("weights",
                            softmax_of(actual_of(correct["masked_scores"],
                                                 [](double score, std::size_t, std::size_t) {
                                                     return score / std::sqrt(head_width);
                                                 })));
        const Diagnosis diagnosis = diagnose(plan, given, user_tensors);
        REQUIRE(diagnosis.findings.size() == 1);
        CHECK_FALSE(diagnosis.findings[0].harmless);
    }

    TEST_CASE("an offset on hidden scores is inferred after cap and bias") {
        for (const WalkConfig& config : {capped_config(), alibi_config()}) {
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            const Ledger correct = walk(plan, given);
            Ledger user_tensors;
            user_tensors.record(
                "masked_scores",
                actual_of(correct[config.softcap > 0 ? "capped_scores" : "biased_scores"],
                          [](double score, std::size_t q, std::size_t k) {
                              return k > q ? score - 30000 : score;
                          }));
            const Diagnosis diagnosis = diagnose(plan, given, user_tensors);
            REQUIRE(diagnosis.findings.size() == 1);
            CHECK(mentions(diagnosis.findings[0], added_fill(-30000).id));
            CHECK(diagnosis.findings[0].harmless);
        }
    }

    TEST_CASE("scores minus the maximum of their row are the same after softmax") {
        const Plan plan = resolve(alibi_config());
        const Ledger given = draw(plan);
        const Ledger correct = walk(plan, given);
        const Tensor& scores = correct["biased_scores"];
        Ledger user_tensors;
        user_tensors.record("biased_scores",
                            actual_of(scores, [&](double score, std::size_t q, std::size_t) {
                                double largest = -HUGE_VAL;
                                for (std::size_t k = 0; k < row_length; ++k) {
                                    largest = std::max(largest, scores.at(q * row_length + k));
                                }
                                return score - largest;
                            }));
        const Diagnosis diagnosis = diagnose(plan, given, user_tensors);
        REQUIRE(diagnosis.findings.size() == 1);
        CHECK(mentions(diagnosis.findings[0], "same-after-softmax"));
        CHECK(diagnosis.findings[0].harmless);
    }

    TEST_CASE("with norms after the rotation, a mistake in each is found at its own step") {
        WalkConfig config = small_config();
        config.rotary.pairing = Pairing::half;
        config.qk_norm.over = NormOver::head;
        config.qk_norm.place = QkNorm::Place::after;
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const StepTable table =
            find_mistake("qk-norm-missing")
                .apply(find_mistake("rope-style").apply(step_table(plan), plan), plan);
        const Ledger wrong = walk(plan, given, table);
        Ledger user_tensors;
        // In the order of a user's file, which is not that of the walk.
        for (const char* name : {"normed_query", "normed_key", "rotated_query", "rotated_key"}) {
            user_tensors.record(name, wrong[name]);
        }
        const Diagnosis diagnosis = diagnose(plan, given, user_tensors);
        REQUIRE(diagnosis.findings.size() == 2);
        CHECK(diagnosis.findings[0].step == "rotated_query");
        CHECK(mentions(diagnosis.findings[0], "rope-style"));
        CHECK(diagnosis.findings[1].step == "normed_query");
        CHECK(mentions(diagnosis.findings[1], "qk-norm-missing"));
    }
}
