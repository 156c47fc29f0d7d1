// Walks whose features have names, and whose numbers were chosen by hand.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/program.hpp"

using nlohmann::json;
using program::Folder;
using program::has;
using program::run;

namespace {

std::vector<std::string> names() {
    std::vector<std::string> all;
    std::istringstream list(run("examples").out);
    for (std::string line; std::getline(list, line);) all.push_back(line.substr(0, line.find(' ')));
    return all;
}

/// The number of a cell as `why` prints it.
double cell(const std::string& of, const std::string& example) {
    const program::Result why = run("why '" + of + "' --example " + example);
    REQUIRE_MESSAGE(why.exit_code == 0, why.err);
    return std::stod(why.out.substr(why.out.find(" = ") + 3));
}

/// A small example of a user: two words, two features.
constexpr const char* mine = R"(example  mine
title    a noun looks at its adjective
looks    dog at big

x        noun  adjective
big         0          1
dog         1          0

w_query  noun  adjective
wants       4          0   # an adjective

w_key    noun  adjective
is          0          1
)";

/// The file with one part replaced by another text.
std::string with(const std::string& part, const std::string& other) {
    std::string text = mine;
    return text.replace(text.find(part), part.size(), other);
}

}  // namespace

TEST_SUITE("app: examples") {
    TEST_CASE("each word attends where its example says, and each example fits on one screen") {
        std::size_t claims = 0;
        REQUIRE(names().size() >= 6);
        for (const std::string& name : names()) {
            const std::string text = run("examples " + name).out;
            CHECK(std::count(text.begin(), text.end(), '\n') <= 36);
            std::istringstream lines(text);
            for (std::string line, word, query, at, key, head; std::getline(lines, line);) {
                CHECK(line.size() <= 100);
                std::istringstream words(line);
                word.clear();  // from the previous line
                words >> word;
                if (word != "looks") continue;
                words >> query >> at >> key;
                const bool has_head = !!(words >> at >> at >> head);
                const bool has_heads = has(text, "--heads");
                const std::string index = !has_heads ? "" : has_head ? head + "," : "0,";
                INFO(name << ": " << line);
                CHECK(cell("weights[" + index + query + "," + key + "]", name) > 0.5);
                ++claims;
            }
        }
        CHECK(claims >= 12);
    }
    TEST_CASE("features are called by their names everywhere") {
        CHECK(has(run("--example adjective --only x --format svg").out, ">adjective</text>"));
        const std::string all = run("--example adjective --detail").out;
        CHECK(has(all, "Example adjective, set by hand:"));
        CHECK(has(all,
                  "# Rows: article, adjective, noun, verb; columns: article, adjective, noun, "
                  "verb,\n# size.\n"));
    }
    TEST_CASE("names of heads belong to their own features") {
        const json walk = json::parse(run("--example heads --format json").out);
        for (const json& step : walk["steps"]) {
            if (step["name"] != "query") continue;
            CHECK(step["features"]["feature"] == json{{"adjective"}, {"verb"}});
        }
    }
    TEST_CASE("a user's file runs, and its record holds its text") {
        const Folder folder;
        const std::string file = folder / "mine.txt", record = folder / "walk.json";
        std::ofstream(file) << mine;
        const program::Result result =
            run("--only weights -q --example " + file + " --save-config " + record);
        CHECK_MESSAGE(result.exit_code == 0, result.err);
        CHECK(has(result.out, "0.9820"));  // e^4 / (e^4 + 1)
        std::filesystem::remove(file);
        CHECK(run("--only weights -q --config " + record).out == result.out);
        const std::string copy = folder / "adjective.txt";
        CHECK(run("examples adjective -o " + copy).exit_code == 0);
        CHECK(run("-q --example " + copy).out == run("-q --example adjective").out);
    }
    TEST_CASE("a file that is not an example is refused with its line") {
        const Folder folder;
        const std::string file = folder / "mine.txt";
        const auto refused = [&](const std::string& text, const std::string& reason) {
            std::ofstream(file) << text;
            program::check_refused("--example " + file, "mine.txt: " + reason);
        };
        refused("example mine\n", "line 1 ends without x: a table with a row for each word");
        refused(with("dog         1          0", "dog         1"),
                "line 7 has 1 numbers for the 2 columns of x");
        refused(with("4          0 ", "4          o "), "line 10 'o' is not a number");
        refused(with("w_key    noun  adjective", "w_key    adjective  noun"),
                "line 12 has other columns than x");
        refused(with("w_key ", "w_query "), "line 12 begins a second table w_query");
        refused(with("dog at big", "dog big"), "line 3 is not of the form looks dog at big");
        refused(with("dog at big", "cat at big"), "looks cat at big: 'cat' is not one row of x");
        refused(with("title    a noun looks at its adjective", "begins   --x a.csv"),
                "line 2 a file of an attention or an example begins with flags of a walk");
        refused(with("title    a noun looks at its adjective", "nonsense"),
                "line 2 is neither example, title, begins nor looks");
    }
    TEST_CASE("the first line of a table names the features of x") {
        const Folder folder;
        const std::string file = folder / "x.csv";
        std::ofstream(file) << "word,noun,adjective\nbig,0,1\ndog,1,0\n";
        CHECK(run("--only 'x[dog,noun]' -q --x " + file).out == "tensor(1.)\n");
        CHECK(has(run("--only x --x " + file).out, "Features: noun, adjective."));
        std::ofstream(file) << ",0,1\nbig,0,1\ndog,1,0\n";
        CHECK(!has(run("--only x --x " + file).out, "Features:"));
    }
    TEST_CASE("an example answers as a page, as code, under other flags and in the stepper") {
        const std::string page = run("--example adjective --format html").out;
        CHECK(has(page, "\"features\":{\"feature\":[[\"article\",\"adjective\""));
        CHECK(has(run("--example adjective --code torch").out, "import torch"));
        CHECK(run("--example heads --backward --variant loop").exit_code == 0);
        const std::string steps = run("step --example adjective --script -", "cell dog,noun\n").out;
        CHECK(has(steps, "x[2,2] = 1.0000   token 'dog', feature 'noun'"));
    }
}
