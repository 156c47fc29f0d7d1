// Settings of a file that no flag and no known name reveals: diagnose infers or asks.

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

namespace unspecified {
using nlohmann::json;
using program::has;
using program::run;
namespace {

/// The tensors of a walk by name.
json walked(const std::string& flags) {
    json tensors;
    const json walk = json::parse(run(flags + " --format json").out);
    for (const json& step : walk["steps"]) {
        if (step.contains("data")) tensors[step["name"].get<std::string>()] = step["data"];
    }
    return tensors;
}

program::Result diagnosed(const json& tensors, const std::string& flags) {
    const program::Folder folder;
    std::ofstream(folder / "theirs.json") << tensors.dump();
    return run("diagnose " + (folder / "theirs.json") + " " + flags);
}

/// (head, token, feature) as (token, head, feature).
json tokens_first(const json& heads) {
    json turned;
    for (std::size_t t = 0; t < heads[0].size(); ++t) {
        for (std::size_t h = 0; h < heads.size(); ++h) turned[t][h] = heads[h][t];
    }
    return turned;
}

/// Rounds all numbers to this number of decimals.
json printed(const json& numbers, int decimals) {
    if (numbers.is_number()) {
        const double last = std::pow(10, decimals);
        return std::round(numbers.get<double>() * last) / last;
    }
    json all;
    for (const json& each : numbers) all.push_back(printed(each, decimals));
    return all;
}

/// Files that contain all that a diagnosis needs, written by NumPy and PyTorch
/// (tests/app/whole_files.py).
const std::string whole_files = ATTN_SOURCE_DIR "/data/reference/whole/";

/// The mistakes that a verdict names, of all layers.
std::vector<std::string> named_in(const json& verdict) {
    std::vector<std::string> named;
    const json layers = verdict.contains("layers") ? verdict.at("layers") : json::array({verdict});
    for (const json& layer : layers) {
        for (const json& finding : layer.at("findings")) {
            if (finding.at("harmless").get<bool>()) continue;
            named.push_back(finding.at("id").is_null() ? "unknown"
                                                       : finding.at("id").get<std::string>());
        }
    }
    return named;
}

/// The text on one line, whatever its width.
std::string on_one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace

TEST_SUITE("app: diagnose unsaid") {
    TEST_CASE(
        "x is recognised as the only tensor that the parameters can multiply; without it nothing "
        "is wrong") {
        const json of = walked("--seq-len 5 --embed-dim 6 --heads 2 --seed 7");
        json actual{{"w_q", of["w_query"]},
                    {"w_k", of["w_key"]},
                    {"w_v", of["w_value"]},
                    {"attn", of["weights"]},
                    {"ctx", of["merged"]}};
        const auto without = diagnosed(actual, "--heads 2");
        CHECK(without.exit_code == 3);
        CHECK_MESSAGE(has(without.out, "no x that they multiply"), without.out);
        CHECK_FALSE(has(without.out, "no known mistake"));
        actual["h_in"] = of["x"];
        const auto with = diagnosed(actual, "--heads 2");
        CHECK_MESSAGE(with.exit_code == 0, with.out);
        CHECK(has(with.out, "h_in is x, by its shape"));
        json outcome{{"w_q", of["w_query"]}, {"q", of["query"]},      {"k", of["key"]},
                     {"v", of["value"]},     {"attn", of["weights"]}, {"ctx", of["context"]}};
        const auto from_query = diagnosed(outcome, "--heads 2");
        CHECK(has(from_query.out, "right: weights, context"));
        CHECK(has(from_query.out, "not compared  w_q"));
    }

    TEST_CASE("tokens may come before heads, and samples next to heads, without a flag") {
        const json of = walked("--seq-len 5 --embed-dim 6 --heads 2 --seed 3");
        const json packed{{"q", tokens_first(of["query"])},
                          {"k", tokens_first(of["key"])},
                          {"v", tokens_first(of["value"])},
                          {"attn", of["weights"]},
                          {"res", of["merged"]}};
        for (const char* flags : {"", "--heads 2"}) CHECK(diagnosed(packed, flags).exit_code == 0);
        const json batch = walked("--seq-len 5 --embed-dim 6 --heads 2 --seed 3 --batch 3");
        json flat{{"merged", batch["merged"]}};
        for (const auto& [name, step] : {std::pair("q", "query"), {"k", "key"}, {"v", "value"}}) {
            for (const json& sample : batch[step]) {
                for (const json& head : sample) flat[name].push_back(head);
            }
        }
        const auto seen = diagnosed(flat, "");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
    }

    TEST_CASE("any of the weights reveals their layout") {
        const json of = walked(
            "--seq-len 5 --embed-dim 6 --heads 2 --kv-heads 1 --seed 3 --weight-layout in-out");
        const json actual{{"x", of["x"]},
                          {"Wq", of["w_query"]},
                          {"Wk", of["w_key"]},
                          {"Wv", of["w_value"]},
                          {"out", of["merged"]}};
        const auto seen = diagnosed(actual, "--heads 2 --kv-heads 1");
        CHECK_MESSAGE(seen.exit_code == 0, seen.err, seen.out);
    }

    TEST_CASE("a mask in the file, or the weights that are 0, may be intended") {
        const json of = walked("--ids '1,2,3;4,5,0' --pad-id 0 --mask padding --seed 3");
        json actual{{"q", of["query"]},
                    {"k", of["key"]},
                    {"v", of["value"]},
                    {"attn", of["weights"]},
                    {"out", of["context"]}};
        const auto shown = diagnosed(actual, "");
        CHECK(shown.exit_code == 3);
        CHECK_MESSAGE(has(shown.out, "with a mask for each weight that is 0: right"), shown.out);
        actual["keep"] = json::parse("[[1, 1, 1], [1, 1, 0]]");
        const auto given = diagnosed(actual, "");
        CHECK(given.exit_code == 3);
        CHECK_MESSAGE(has(given.out, "--mask-file FILE:keep --mask-true keep: right"), given.out);
    }

    TEST_CASE("the cells that dropout keeps are read from the file") {
        const json of = walked("--seq-len 5 --embed-dim 4 --heads 2 --dropout 0.3 --seed 3");
        const json actual{{"q", of["query"]},   {"k", of["key"]},        {"v", of["value"]},
                          {"keep", of["keep"]}, {"attn", of["weights"]}, {"ctx", of["context"]}};
        const auto seen = diagnosed(actual, "--heads 2 --dropout 0.3 --dropout-seed 8");
        CHECK_MESSAGE(seen.exit_code == 0, seen.out);
    }

    TEST_CASE("x may include its positions, and steps may need a flag: both raise a question") {
        const json of =
            walked("--ids 1,2,3,4 --position-embedding sinusoidal --rope half --seed 3");
        const json actual{{"x", of["x"]},
                          {"w_q", of["w_query"]},
                          {"w_k", of["w_key"]},
                          {"w_v", of["w_value"]},
                          {"out", of["context"]}};
        const auto positions = diagnosed(actual, "--position-embedding sinusoidal --rope half");
        CHECK(positions.exit_code == 3);
        CHECK_MESSAGE(has(positions.out, "with no --position-embedding: right"), positions.out);
        const json turned = walked("--seq-len 5 --embed-dim 8 --rope half --rotary-dim 4 --seed 3");
        const json rotated{{"q", turned["query"]},
                           {"k", turned["key"]},
                           {"v", turned["value"]},
                           {"q_embed", turned["rotated_query"]},
                           {"k_embed", turned["rotated_key"]},
                           {"attn", turned["weights"]}};
        const auto lacks = diagnosed(rotated, "");
        CHECK(lacks.exit_code == 3);
        CHECK_MESSAGE(has(lacks.out, "steps that this walk lacks: q_embed (rotated_query)"),
                      lacks.out);
        CHECK_FALSE(has(lacks.out, "no known mistake"));
    }

    TEST_CASE(
        "digits lost in printed query and key are lost in the steps after them, and no more") {
        for (const int decimals : {2, 3, 4}) {
            for (int seed = 1; seed < 4; ++seed) {
                const std::string flags =
                    "--seq-len 5 --embed-dim 4 --seed " + std::to_string(seed);
                const json of = walked(flags), wrong = walked(flags + " --bug scale-missing");
                json actual;
                for (const char* name : {"query", "key", "value", "weights", "context"}) {
                    actual[name] = printed(of[name], decimals);
                }
                CHECK_MESSAGE(diagnosed(actual, "").exit_code == 0, decimals << " " << seed);
                actual["weights"] = printed(wrong["weights"], decimals);
                actual["context"] = printed(wrong["context"], decimals);
                const auto found = diagnosed(actual, "");
                CHECK_MESSAGE(has(found.out, "weights: scale-missing"), found.out);
            }
        }
    }

    TEST_CASE("a file that contains all that is needed is judged without a question") {
        const json index = json::parse(program::read_file(whole_files + "index.json"));
        REQUIRE(index.at("cases").size() > 20);
        for (const json& one : index.at("cases")) {
            const std::string file = one.at("file");
            const program::Result text = run("diagnose " + whole_files + file);
            CHECK_MESSAGE(text.exit_code == one.at("code").get<int>(), file << "\n"
                                                                            << text.out
                                                                            << text.err);
            const std::string line = on_one_line(text.out);
            for (const std::string words : one.at("says")) {
                CHECK_MESSAGE(has(line, words), file << ": " << words << "\n" << text.out);
            }
            if (text.exit_code != 3) CHECK_FALSE_MESSAGE(has(line, "Which did you"), text.out);
            const program::Result answer = run("diagnose --json " + whole_files + file);
            CHECK_MESSAGE(named_in(json::parse(answer.out)) ==
                              one.at("named").get<std::vector<std::string>>(),
                          file << "\n"
                               << answer.out);
        }
    }

    TEST_CASE("a page shows one layer") {
        const program::Folder folder;
        const program::Result page =
            run("diagnose " + whole_files + "two_layers.npz -o " + (folder / "page.html"));
        CHECK(page.exit_code == 2);
        CHECK_MESSAGE(has(page.err, "has 2 layers, and a page shows one"), page.err);
    }

    TEST_CASE("a mask of a mistake is not taken as the one that is meant") {
        const json of =
            walked("--heads 2 --seq-len 5 --mask causal --bug causal-diag-plus1 --projection none");
        json actual;
        for (const char* name : {"query", "key", "value", "mask", "weights", "context"}) {
            actual[name] = of[name];
        }
        const program::Result result = diagnosed(actual, "");
        CHECK_MESSAGE(result.exit_code != 0, result.out);
        CHECK_MESSAGE(has(on_one_line(result.out), "causal-diag-plus1"), result.out);
    }
}

}  // namespace unspecified
