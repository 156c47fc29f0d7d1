#include "attn/quiz/question.hpp"

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
    TEST_CASE("a number is right within half a unit of its last digit, however it is written") {
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
        // A cell's indices are asked for too.
        const RightAnswer cell{.kind = RightAnswer::Kind::shape, .shape = {1, 2, 0}};
        CHECK(check_answer(cell, "that one").advice == "write whole numbers, as in (2, 3)");
    }

    TEST_CASE("keys go by number or word, in any order") {
        const RightAnswer keys{.kind = RightAnswer::Kind::names,
                               .names = {{"3", "eat"}, {"4", "Dessert"}}};
        for (const char* typed :
             {"3 4", "eat, dessert", "4, 3", "'Eat' and 4", "keys 3 and 4", "[3, 4]"}) {
            CHECK_MESSAGE(check_answer(keys, typed).is == Is::right, typed);
        }
        for (const char* typed : {"3", "3 4 5", "eat, short", "none", "34"}) {
            CHECK_MESSAGE(check_answer(keys, typed).is == Is::wrong, typed);
        }
        CHECK(check_answer(keys, "").is == Is::unread);
        const RightAnswer choice{.kind = RightAnswer::Kind::names,
                                 .names = {{"b", "scale-missing"}},
                                 .others = {"a", "c", "k-dot-k"}};
        CHECK(check_answer(choice, "B)").is == Is::right);
        CHECK(check_answer(choice, "(b)").is == Is::right);
        CHECK(check_answer(choice, "scale-missing").is == Is::right);
        CHECK(check_answer(choice, "c").is == Is::wrong);
        CHECK(check_answer(choice, "a b").is == Is::wrong);
        CHECK(check_answer(choice, "7").is == Is::unread);
    }
}
