#include "attn/learn/quiz/question.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using attn::check_answer;
using attn::RightAnswer;
using Is = attn::Judgement::Is;

namespace {

Is number(double right, const char* typed) { return check_answer({.number = right}, typed).is; }
Is shape(attn::Shape right, const char* typed) {
    return check_answer({.kind = RightAnswer::Kind::shape, .shape = std::move(right)}, typed).is;
}

}  // namespace

TEST_SUITE("quiz: answer") {
    TEST_CASE("a number is right within half a unit of its last digit, in any notation") {
        for (const char* typed :
             {"0.52", ".5167", "0.51667", "31/60", " = 0.517", "weights[1,0] = .52", "51.7%",
              "5.17e-1", "+0.517", "≈ 0.52", "(31)/(60)"}) {
            CHECK_MESSAGE(number(31.0 / 60, typed) == Is::right, typed);
        }
        for (const char* typed :
             {"0.51", "0.53", "0.5160", "0.518", "1/2", "-0.52", "52", "inf", "nan", "0.6"}) {
            CHECK_MESSAGE(number(31.0 / 60, typed) == Is::wrong, typed);
        }
        for (const char* typed :
             {"0.5", "1", "0,52", "1,5", "half", "", "x/2", "weights[0]", "0.5 0.2",
              "sum i in 0..1000000000: 1", "1 and 2", "1/", "((((", "%", "--", "f(2)"}) {
            CHECK_MESSAGE(number(31.0 / 60, typed) == Is::unread, typed);
        }
    }

    TEST_CASE("arithmetic counts: roots, logarithms, powers") {
        CHECK(number(std::log(2), "ln 2") == Is::right);
        CHECK(number(std::log(2), "ln(2)") == Is::right);
        CHECK(number(std::log(2), "log(2)") == Is::right);
        CHECK(number(-std::log(2), "-ln 2") == Is::right);
        CHECK(number(std::log(2) / 2, "ln 2 / 2") == Is::right);
        for (const char* typed : {"1/sqrt(2)", "sqrt(2)/2", "1/sqrt 2", "√2/2", "0.71", "2^-0.5",
                                  "2**(-1/2)", "cos(pi/4)", "sqrt2 / 2", "0.5^0.5"}) {
            CHECK_MESSAGE(number(std::sqrt(0.5), typed) == Is::right, typed);
        }
        CHECK(number(std::exp(1) / (std::exp(1) + 2), "e/(e+2)") == Is::right);
        CHECK(number(std::exp(1) / (std::exp(1) + 2), "exp 1/(exp(1)+2)") == Is::right);
        CHECK(number(0.5, "0.5") == Is::right);
        CHECK(number(-2, "−2") == Is::right);
        CHECK(number(3, "3") == Is::right);
        CHECK(number(0, "0") == Is::right);
        CHECK(number(0.03, "0") == Is::unread);
        CHECK(number(0.03, "0.0") == Is::unread);
        CHECK(number(100, "1e2") == Is::right);
        const double infinity = std::numeric_limits<double>::infinity();
        CHECK(number(-infinity, "-inf") == Is::right);
        CHECK(number(-infinity, "-infinity") == Is::right);
        CHECK(number(-infinity, "-∞") == Is::right);
        CHECK(number(-infinity, "inf") == Is::wrong);
        CHECK(number(-infinity, "-1e9") == Is::wrong);
        CHECK(number(std::nan(""), "nan") == Is::right);
        CHECK(number(std::nan(""), "0") == Is::wrong);
        CHECK(number(0.25, std::string(5000, '(').c_str()) == Is::unread);
    }

    TEST_CASE("a shape is its sizes") {
        for (const char* typed : {"(2,3)", "2x3", "[2, 3]", "2 3", "2 × 3", "torch.Size([2, 3])",
                                  "2, 3", "2 by 3", "shape = (2, 3)", "(2,3,)"}) {
            CHECK_MESSAGE(shape({2, 3}, typed) == Is::right, typed);
        }
        for (const char* typed : {"(3,2)", "23", "2", "2x3x1", "99999999999999999999x3"}) {
            CHECK_MESSAGE(shape({2, 3}, typed) == Is::wrong, typed);
        }
        CHECK(shape({4}, "(4,)") == Is::right);
        CHECK(shape({2, 3}, "two by three") == Is::unread);
        CHECK(shape({2, 3}, "2.3") == Is::unread);
        CHECK(shape({2, 3}, "(2, -3)") == Is::unread);
        CHECK(shape({2, 3}, "2-3") == Is::right);
        // The indices of a cell can be the answer, too.
        const RightAnswer cell{.kind = RightAnswer::Kind::shape, .shape = {1, 2, 0}};
        CHECK(check_answer(cell, "that one").advice == "write whole numbers, as in (2, 3)");
    }

    TEST_CASE("keys are given by number or word, in any order") {
        const RightAnswer keys{.kind = RightAnswer::Kind::names,
                               .names = {{"3", "eat"}, {"4", "Dessert"}}};
        for (const char* typed :
             {"3 4", "eat, dessert", "4, 3", "'Eat' and 4", "keys 3 and 4", "[3, 4]"}) {
            CHECK_MESSAGE(check_answer(keys, typed).is == Is::right, std::string(typed));
        }
        for (const char* typed : {"3", "3 4 5", "eat, short", "none", "34"}) {
            CHECK_MESSAGE(check_answer(keys, typed).is == Is::wrong, std::string(typed));
        }
        CHECK(check_answer(keys, "").is == Is::unread);
        const RightAnswer some{.kind = RightAnswer::Kind::names,
                               .names = {{"1", "is"}, {"2", "the"}, {"3", "eat"}},
                               .others = {"0", "life", "4", "key"}};
        for (const char* typed : {"1-3", "1..3", "1 to 3", "[1, 2, 3]", "1, 2 and 3", "is the eat",
                                  "keys 1, 2 & 3", "{3 2 1}", "it is 1 2 3.", "1 – 3"}) {
            CHECK_MESSAGE(check_answer(some, typed).is == Is::right, std::string(typed));
        }
        for (const char* typed : {"1-2", "0-3", "1-4", "is", "key", "is the eat life"}) {
            CHECK_MESSAGE(check_answer(some, typed).is == Is::wrong, std::string(typed));
        }
        for (const char* typed : {"7", "1-9", "-1", "first", "1-", "?", "1-99999999999999999999"}) {
            CHECK_MESSAGE(check_answer(some, typed).is == Is::unread, std::string(typed));
        }
        CHECK(check_answer(some, "first").advice ==
              "write some of 0, 1, 2, 3, 4, eat, is, key, life, the");
        const RightAnswer line{.kind = RightAnswer::Kind::names,
                               .names = {{"4", "weights"}},
                               .others = {"1", "scores", "2", "scaled_scores", "3", "context"}};
        for (const char* typed : {"4", "line 4", "4.", "4)", "weights", "weights[q,k]", "it is 4",
                                  "4 weights", "Line 4: weights", "step weights"}) {
            CHECK_MESSAGE(check_answer(line, typed).is == Is::right, std::string(typed));
        }
        for (const char* typed : {"3", "scores[q,k]", "4 and 3"}) {
            CHECK_MESSAGE(check_answer(line, typed).is == Is::wrong, std::string(typed));
        }
    }

    TEST_CASE("a choice is given by letter, by number in any notation, or by its text") {
        // A value takes precedence over a place in the list: 5 is b), and .5 is c).
        const RightAnswer numbers{
            .kind = RightAnswer::Kind::choice,
            .names = {{"-1.581", "sign-lost"}, {"5"}, {"0.5", "root-twice"}, {"ln 3"}},
            .numbers = {-1.5811388, 5, 0.5, std::log(3)},
            .choice = 2};
        const auto specified = [&](const char* typed) -> int {
            const auto place = attn::parse_choice(numbers, typed);
            return place ? static_cast<int>(*place) : -1;
        };
        for (const char* typed :
             {".5",           "0.5",        "0.50",      "1/2",      "50%",      "50 %",
              "5*100^(-2/4)", "+.5",        "5e-1",      "2^-1",     "c",        "C",
              "c)",           "(c)",        "c.",        "[c]",      "c) .5",    "c: 1/2",
              "root-twice",   "answer: .5", "= .5",      "choice c", "it is .5", "d_query[0] = .5",
              "'c'",          "½",          "sqrt(1/4)", "c) 0.5"}) {
            CHECK_MESSAGE(specified(typed) == 2, std::string(typed));
            CHECK_MESSAGE(check_answer(numbers, typed).is == Is::right, std::string(typed));
        }
        for (const char* typed : {"5", "5.0", "b", "b) 5", "10/2", "500%", "sqrt 25"}) {
            CHECK_MESSAGE(specified(typed) == 1, std::string(typed));
            CHECK_MESSAGE(check_answer(numbers, typed).is == Is::wrong, std::string(typed));
        }
        CHECK(specified("-1.581") == 0);
        CHECK(specified("-1.5810") == 0);
        CHECK(specified("0.5.") == 2);
        CHECK(number(0.25, "it is 0.25.") == Is::right);
        CHECK(specified("-1.58") == 0);
        CHECK(specified("−1.6") == 0);
        CHECK(specified("-sqrt(2.5)") == 0);
        for (const char* typed : {"ln 3", "log(3)", "1.0986", "1.1", "d) ln 3"}) {
            CHECK_MESSAGE(specified(typed) == 3, std::string(typed));
        }
        // Neither a place in the list, nor part of a number, nor two answers at once.
        for (const char* typed : {"2", "1.5", "0.05", "e", "b) 0.5", "a b", "half", "0,5", "", "?",
                                  "1.58", "3", "ln", "bc"}) {
            CHECK_MESSAGE(specified(typed) == -1, std::string(typed));
            CHECK_MESSAGE(check_answer(numbers, typed).is == Is::unread, std::string(typed));
        }
        const RightAnswer rules{.kind = RightAnswer::Kind::choice,
                                .names = {{"weights[q,k] = softmax(scores[q,k])"},
                                          {"weights[q,k] = scores[q,k] / 4", "scale-twice"},
                                          {"a softmax over the queries", "softmax-axis"}},
                                .choice = 1};
        for (const char* typed :
             {"b", "weights[q,k] = scores[q,k] / 4", "weights[q,k]=scores[q,k]/4",
              "scores[q,k] / 4", "b) weights[q,k] = scores[q,k] / 4", "SCALE-TWICE", "(B)."}) {
            CHECK_MESSAGE(check_answer(rules, typed).is == Is::right, std::string(typed));
        }
        for (const char* typed : {"a", "c", "a softmax over the queries", "over the queries",
                                  "Softmax-axis", "A)", "softmax(scores[q,k])"}) {
            CHECK_MESSAGE(check_answer(rules, typed).is == Is::wrong, std::string(typed));
        }
        for (const char* typed : {"2", "scores", "b c", "none", "1/4", "d"}) {
            CHECK_MESSAGE(check_answer(rules, typed).is == Is::unread, std::string(typed));
        }
        CHECK(check_answer(rules, "2").advice == "write the letter of one of them, a to c");
    }
}
