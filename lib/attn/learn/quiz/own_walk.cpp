#include <algorithm>
#include <cmath>

#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/quiz/question.hpp"

// Questions about one walk with given numbers.

namespace attn {
namespace {

constexpr std::size_t most_shown = 64, max_questions = 16;  // numbers

/// Returns the walk with other numbers in a parameter, or in query.
Walked with_numbers(const QuizWalk& walk, const std::string& step, Tensor numbers) {
    QuizWalk other = walk;
    other.config.parameters.record(step, std::move(numbers));
    return other.walked_with();
}

Tensor with_cells(const Tensor& like, std::size_t first, const std::vector<double>& numbers) {
    Array<double> cells = cast(like, DType::float64).as<double>();
    std::ranges::copy(numbers, cells.data() + first);
    return cast(Tensor(like.axes(), std::move(cells)), like.dtype());
}

/// True if the largest weight of a query, by more than rounding, is that of a key.
bool looks_at(const Walked& walked, std::size_t query, std::size_t key) {
    const Tensor& weights = walked.ledger["weights"];
    const std::size_t keys = weights.shape()[1];
    for (std::size_t k = 0; k < keys; ++k) {
        const bool is_less = weights.at(query * keys + k) + 1e-6 < weights.at(query * keys + key);
        if (k != key && !is_less) return false;
    }
    return true;
}

/// Asks for numbers that make a query look at a key. Any such numbers are right, which is checked
/// by running the walk with them.
std::optional<Question> ask_to_construct(const QuizWalk& walk, Dice& dice) {
    const Walked walked = walk.walked_with();
    const Tensor& weights = walked.ledger["weights"];
    const Tensor* const matrix = walked.ledger.find("w_query");
    const bool is_matrix = matrix != nullptr && matrix->size() <= max_questions;
    const Tensor& key = walked.ledger["key"];
    const std::size_t q = dice.below(weights.shape()[0]), k = dice.below(weights.shape()[1]);
    const Tensor& changed = is_matrix ? *matrix : walked.ledger["query"];
    const std::size_t width = changed.shape()[1];
    const std::size_t first = is_matrix ? 0 : q * width, count = is_matrix ? changed.size() : width;
    const std::string step = is_matrix ? "w_query" : "query";
    const auto holds = [=](const std::vector<double>& numbers) {
        return looks_at(with_numbers(walk, step, with_cells(changed, first, numbers)), q, k);
    };
    // An example: a query in the direction of the key, or the matrix that computes it from x.
    std::vector<double> example(count);
    bool is_found = false;
    for (double size = 1; !is_found && size < 1e3; size *= 4) {
        const std::size_t features = key.shape()[1];
        double square = 0;
        const Tensor* const x = is_matrix ? &walked.ledger["x"] : nullptr;
        for (std::size_t c = 0; is_matrix && c < width; ++c) {
            square += x->at(q * width + c) * x->at(q * width + c);
        }
        if (is_matrix && !(square > 0)) return std::nullopt;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t f = is_matrix ? i / width : i;
            const double along = size * key.at(k * features + f);
            const double exact = is_matrix ? along * x->at(q * width + i % width) / square : along;
            example[i] = std::round(exact * 100) / 100;
        }
        is_found = holds(example);
    }
    if (!is_found) return std::nullopt;
    const auto called = [](const auto& tokens, std::size_t i) {
        return tokens.empty() ? std::to_string(i) : "'" + tokens[0][i] + "'";
    };
    const std::string from = called(walked.plan.query_tokens, q),
                      to = called(walked.plan.key_tokens, k);
    const std::string what =
        is_matrix ? "w_query, which has " + shape_text(changed.shape()) + " numbers,"
                  : "the query of " + from + ", " + std::to_string(width) + " numbers,";
    Question question{.walk = walk};
    question.asks = given(walk) + "Set " + what + " so that " + from + " looks at " + to +
                    ": no other weight in its row may be as large.";
    question.shown = {shown_tensor("key", key)};
    if (is_matrix) question.shown.push_back(shown_tensor("x", walked.ledger["x"]));
    question.right = {.kind = RightAnswer::Kind::made, .count = count, .holds = holds};
    for (const double number : example) {
        question.answer += (question.answer.empty() ? "[" : ", ") + quiz_number(number);
    }
    question.answer += "], among others";
    question.hints = {"a score is largest for the key that points most in the query's direction",
                      "try the row of " + to + " in key, several times as long"};
    const Walked after = with_numbers(walk, step, with_cells(changed, first, example));
    question.why = "With these numbers: " + shown_tensor("weights", after.ledger["weights"]) + "\n";
    question.cell = "weights" + index_text({q, k});
    return question;
}

bool may_construct(const Walked& walked) {
    const Tensor *const weights = walked.ledger.find("weights"),
                        *const query = walked.ledger.find("query"),
                        *const key = walked.ledger.find("key");
    return weights != nullptr && query != nullptr && key != nullptr && weights->dimension() == 2 &&
           query->dimension() == 2 && key->dimension() == 2 && key->size() <= most_shown &&
           walked.ledger.find_latest(Chain::queries)->name == "query" &&
           walked.ledger.find_latest(Chain::keys)->name == "key";
}

}  // namespace

std::vector<QuizEntry> own_entries(const QuizWalk& walk) {
    const Walked walked = walk.walked_with();
    const auto same = [walk](Dice&) { return walk; };
    std::vector<QuizEntry> entries;
    for (const Step& step : walked.table) {
        const Tensor* const tensor = walked.ledger.find(step.name);
        const bool is_requested = tensor != nullptr && step.kind == Step::Kind::computed &&
                                  step.shown && tensor->is_floating() &&
                                  !walked.plan.config.parameters.has(step.name);
        const auto rule = is_requested ? rule_of({walked.plan, walked.table, step}) : std::nullopt;
        if (!rule) continue;
        const std::vector<std::string> read = tensors_read(*rule);
        std::vector<std::string> shown;
        std::size_t numbers = 0;
        for (const std::string& name : read) {
            // Weights are computed from the scores: their parts are the answer's derivation.
            const bool is_part = find_step(walked.table, name).kind == Step::Kind::detail;
            if (is_part) continue;
            shown.push_back(name);
            numbers += walked.ledger[name].size();
        }
        const bool has_all = std::ranges::all_of(
            tensor->numbers(), [](double number) { return std::isfinite(number); });
        if (!shown.empty() && numbers <= most_shown && has_all) {
            entries.push_back({step.name, same, ask_cell(step.name, shown)});
        }
    }
    if (may_construct(walked)) entries.push_back({"construct", same, ask_to_construct});
    if (entries.empty()) {
        throw ConfigError("$from "_message + "has no step that fits on paper: at most " +
                          std::to_string(most_shown) + " numbers to compute a cell from");
    }
    return entries;
}

}  // namespace attn
