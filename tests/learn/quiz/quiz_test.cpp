// Questions about walks: each answer is confirmed by a separate walk.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "attn/explain/why/why.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/quiz/question.hpp"

using namespace attn;

namespace {

using Is = Judgement::Is;

/// The number of questions to confirm: ATTN_QUESTIONS, or a default.
std::size_t how_many() {
    const char* specified = std::getenv("ATTN_QUESTIONS");
    return specified != nullptr ? std::stoul(specified) : 330;
}

/// The number of a cell in a walk by plain loops, with a mistake or without.
double cell_by_loops(QuizWalk walk, const std::string& cell, const Mistake* mistake) {
    walk.config.variant = Variant::loop;
    const Walked walked = walk.walked_with(mistake);
    return parse_cell(walked.plan, walked.table, walked.ledger, cell).value;
}

std::vector<std::string> lines_of(const QuizWalk& walk, const Mistake* mistake) {
    const Walked walked = walk.walked_with(mistake);
    std::vector<std::string> lines;
    for (const char* name : {"query", "key", "value", "scores", "scaled_scores", "masked_scores",
                             "weights", "context"}) {
        if (walked.ledger.has(name)) lines.push_back(shown_tensor(name, walked.ledger[name]));
    }
    return lines;
}

void confirm(const Question& question) {
    const Walked walked = question.walk.walked_with();
    const RightAnswer& right = question.right;
    if (right.kind == RightAnswer::Kind::number) {
        const double number = cell_by_loops(question.walk, question.cell, nullptr);
        CHECK(number == doctest::Approx(right.number).epsilon(1e-6));
        CHECK(check_answer(right, quiz_number(number)).is == Is::right);
    } else if (right.kind == RightAnswer::Kind::shape && walked.ledger.has(question.cell)) {
        CHECK(walked.ledger[question.cell].shape() == right.shape);
    } else if (right.kind == RightAnswer::Kind::shape) {
        CHECK(cell_by_loops(question.walk, question.answer, nullptr) ==
              cell_by_loops(question.walk, question.cell, nullptr));
    } else if (question.choices.empty() && question.mistake == nullptr) {
        const bool hides = question.asks.find("not see") != std::string::npos;
        const std::string row = question.cell.substr(0, question.cell.find(',') + 1);
        std::set<std::string> keys;
        for (const auto& name : right.names) keys.insert(name.front());
        for (std::size_t key = 0; key < walked.plan.key_len; ++key) {
            const std::string text = std::to_string(key);
            const bool is_hidden = cell_by_loops(question.walk, row + text + "]", nullptr) != 0;
            CHECK((is_hidden == hides) == keys.contains(text));
        }
    } else if (question.topic == "mistake") {
        CHECK(lines_of(question.walk, question.mistake) == question.shown);
        CHECK(lines_of(question.walk, nullptr) != question.shown);
        for (const QuizChoice& choice : question.choices) {
            const bool reproduces_it = lines_of(question.walk, choice.mistake) == question.shown;
            CHECK(reproduces_it == (choice.mistake == question.mistake));
        }
    } else if (!question.choices.empty() && question.cell.find('[') != std::string::npos) {
        const double number = cell_by_loops(question.walk, question.cell, nullptr);
        for (const QuizChoice& choice : question.choices) {
            const bool is_right = choice.mistake == nullptr;
            CHECK((choice.text == quiz_number(number)) == is_right);
            if (is_right) continue;
            CHECK(std::abs(cell_by_loops(question.walk, question.cell, choice.mistake) - number) >
                  std::abs(number) / 100);
        }
    }
}

Question second(const std::string& topic, std::uint64_t seed) {
    QuizSession session(topic, seed);
    session.next();
    return session.next();
}

}  // namespace

TEST_SUITE("quiz: questions") {
    TEST_CASE("a walk by loops confirms every answer, and no question has two") {
        std::set<std::string> requested;
        const std::size_t session = 2 * quiz_entries().size();
        QuizSession questions("", 0);
        for (std::size_t i = 0; i < how_many(); ++i) {
            if (i % session == 0) questions = QuizSession("", i), requested.clear();
            const Question question = questions.next();
            INFO(question.topic << " " << i << ": " << question.asks);
            confirm(question);
            CHECK(!question.why.empty());
            CHECK(!question.hints.empty());
            CHECK(!question.answer.empty());
            std::size_t right = 0;
            std::set<std::string> texts;
            for (std::size_t choice = 0; choice < question.choices.size(); ++choice) {
                const std::string letter(1, static_cast<char>('a' + choice));
                const bool is_right = check_answer(question.right, letter).is == Is::right;
                CHECK((mistake_in_answer(question, letter) == question.choices[choice].mistake));
                right += is_right ? 1 : 0;
                texts.insert(question.choices[choice].text);
            }
            CHECK(right == (question.choices.empty() ? 0 : 1));
            CHECK(texts.size() == question.choices.size());
            for (const QuizChoice& wrong : question.mistaken) {
                if (question.choices.empty()) {
                    CHECK(check_answer(question.right, wrong.text).is != Is::right);
                    CHECK(mistake_in_answer(question, wrong.text) != nullptr);
                }
            }
            CHECK(
                requested.insert(question.asks + question.answer + joined(question.shown)).second);
        }
    }

    TEST_CASE(
        "a seed is a session: it repeats, and another seed has other numbers of the same kinds") {
        for (const std::string& topic : quiz_topics()) {
            const std::vector<Question> one{second(topic, 7)}, same{second(topic, 7)};
            const std::vector<Question> other{second(topic, 8)};
            CHECK(sheet_text("", one, true, "markdown") == sheet_text("", same, true, "markdown"));
            CHECK(sheet_text("", one, true, "markdown") != sheet_text("", other, true, "markdown"));
            CHECK(one.front().topic == topic);
            const bool is_of_cell = one.front().right.kind == RightAnswer::Kind::number;
            if (is_of_cell) CHECK(one.front().cell.substr(0, 3) == other.front().cell.substr(0, 3));
        }
        CHECK_THROWS_WITH_AS(QuizSession("sinks", 1), doctest::Contains("not one of scores, scale"),
                             ConfigError);
    }

    TEST_CASE("numbers are written as by hand") {
        CHECK(quiz_number(-0.0) == "0");
        CHECK(quiz_number(2) == "2");
        CHECK(quiz_number(-1.5) == "-1.5");
        CHECK(quiz_number(std::log(3)) == "ln 3");
        CHECK(quiz_number(-std::log(2)) == "-ln 2");
        CHECK(quiz_number(1.0 / 3) == "0.3333");
        CHECK(quiz_number(-INFINITY) == "-inf");
        CHECK(shown_tensor("a", {{"head", "query", "key"}, Array<double>{{{1, 0.5}}, {{2, 3}}}}) ==
              "a = [[[1, 0.5]], [[2, 3]]]");
    }
}
