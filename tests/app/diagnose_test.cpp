#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::has;
using program::run;

namespace {

const std::string walk_flags = "--heads 2 --batch 3 --seq-len 5 --head-dim 3 --mask causal ";

/// A page's numbers as nested lists of the given shape.
nlohmann::json nested(const std::vector<std::string>& tokens, const std::vector<std::size_t>& shape,
                      std::size_t axis, std::size_t& at) {
    if (axis == shape.size()) return std::stod(tokens[at++]);
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < shape[axis]; ++i)
        list.push_back(nested(tokens, shape, axis + 1, at));
    return list;
}

/// Writes the numbers that a notebook's page prints in one place as a file with one step.
std::string page_file(const program::Folder& folder, const std::string& name,
                      const std::string& step) {
    const auto pages =
        nlohmann::json::parse(program::read_file(ATTN_SOURCE_DIR "/data/reference/notebooks.json"));
    for (const auto& page : pages.at("cases")) {
        if (page.at("name") != name) continue;
        std::size_t at = 0;
        const nlohmann::json file{{step, nested(page.at("page_tokens"), page.at("shape"), 0, at)}};
        std::ofstream(folder / (name + ".json")) << file.dump();
        return folder / (name + ".json");
    }
    FAIL("no page " << name);
    return {};
}

}  // namespace

TEST_SUITE("app: diagnose") {
    TEST_CASE("nothing is judged right by a tolerance that lets zeros pass") {
        const program::Folder folder;
        const std::string walk = " --heads 2 --seq-len 5 --embed-dim 8 --seed 3 ";
        const std::string mine = folder / "mine.npz";
        REQUIRE(run(walk + "--bug scale-missing -o " + mine).exit_code == 0);
        for (const char* wide : {"--atol 1e30", "--rtol 1e300", "--rtol 1", "--atol 7"}) {
            CAPTURE(wide);
            const auto result = run("diagnose " + mine + walk + wide);
            CHECK(result.exit_code == 3);
            CHECK(has(result.out, "the tolerance is too large for weights"));
        }
        CHECK(run("diagnose " + mine + walk + "--atol 1e-4").exit_code == 1);
    }
    TEST_CASE(
        "a long walk of one sequence with x drawn by the same flags is examined as a short one") {
        const program::Folder folder;
        const std::string file = folder / "attn.npz";
        for (const std::string tokens : {"60", "300"}) {
            const std::string flags = "--seq-len " + tokens + " --embed-dim 8 ";
            REQUIRE(
                run(flags + "--bug scale-missing --only weights,context -o " + file).err.empty());
            const program::Result result = run("diagnose " + file + " " + flags);
            CHECK(result.err.empty());
            CHECK(result.out.find("weights: scale-missing") != std::string::npos);
        }
    }
    TEST_CASE("a mistake in the user's tensors is named with its evidence and its fix") {
        const program::Folder folder;
        const std::string file = folder / "mine.json";
        REQUIRE(run(walk_flags + "--bug einsum-diagonal --format json -o " + file).exit_code == 0);
        const program::Result result = run("diagnose " + file + " " + walk_flags);
        CHECK(result.exit_code == 1);
        CHECK(result.out.find("context: einsum-diagonal") != std::string::npos);
        CHECK(result.out.find("  fix       ") != std::string::npos);
        CHECK(result.out.find("(inherited)") != std::string::npos);
        const auto json =
            nlohmann::json::parse(run("diagnose --json " + file + " " + walk_flags).out);
        CHECK(json.at("findings").at(0).at("id") == "einsum-diagonal");
    }
    TEST_CASE("columns of the table stay separate, however long a name or a number is") {
        const program::Folder folder;
        const std::string file = folder / "mine.npz";
        const std::string flags = "--rope half --heads 12 --embed-dim 96 --seq-len 11 --batch 10 ";
        REQUIRE(run(flags + "--bug rope-low-precision -o " + file).exit_code == 0);
        const std::string text = run("diagnose " + file + " " + flags).out;
        INFO(text);
        CHECK(text.find("inverse_frequencies  (4,)") != std::string::npos);
        CHECK(text.find(")DIFF") == std::string::npos);
        CHECK(text.find(")ok") == std::string::npos);
    }
    TEST_CASE("x and parameters are taken from the file itself") {
        const program::Folder folder;
        const std::string file = folder / "mine.npz";
        const std::string sizes = "--heads 2 --head-dim 3 ";
        REQUIRE(run(sizes +
                    "--seq-len 5 --embed-dim 6 --seed 7 --bug scale-dmodel --format npz -o " + file)
                    .exit_code == 0);
        const program::Result result = run("diagnose " + file + " " + sizes);
        CHECK(result.exit_code == 1);
        CHECK(result.out.find("scaled_scores: scale-dmodel") != std::string::npos);
    }
    TEST_CASE("right tensors are called right, unexplained differences unknown") {
        const program::Folder folder;
        const std::string file = folder / "mine.json";
        REQUIRE(run(walk_flags + "--format json -o " + file).exit_code == 0);
        const program::Result right = run("diagnose " + file + " " + walk_flags);
        CHECK(right.exit_code == 0);
        CHECK(right.out.find("\nright: ") != std::string::npos);
        std::ofstream(folder / "odd.json") << R"({"weights": [[0.3, 0.7], [0.2, 0.8]]})";
        const program::Result odd = run("diagnose " + (folder / "odd.json") + " --ids 1,2");
        CHECK(odd.exit_code == 3);
        CHECK(odd.out.find("no known mistake matches") != std::string::npos);
    }
    TEST_CASE("the numbers of a printed page with 4 decimals are enough") {
        const program::Folder folder;
        // The weights that notebook 000 prints: the mask was never applied to them.
        std::ofstream(folder / "page.json") << R"({"attention": [
            [[[0.2999,0.2044,0.2478,0.2478],[0.2082,0.2961,0.2478,0.2478],
              [0.2500,0.2500,0.2500,0.2500],[0.2500,0.2500,0.2500,0.2500]],
             [[0.2644,0.2370,0.2493,0.2493],[0.2337,0.2733,0.2465,0.2465],
              [0.2500,0.2500,0.2500,0.2500],[0.2500,0.2500,0.2500,0.2500]]],
            [[[0.2887,0.1968,0.3139,0.2006],[0.2133,0.3034,0.2026,0.2807],
              [0.3217,0.1437,0.3960,0.1386],[0.2450,0.2461,0.2335,0.2754]],
             [[0.2713,0.2431,0.2224,0.2633],[0.2200,0.2573,0.3062,0.2165],
              [0.2726,0.2315,0.1693,0.3266],[0.2406,0.2527,0.2634,0.2433]]]]})";
        const program::Result result = run("diagnose " + (folder / "page.json") +
                                           " --map attention:weights --decimals 4 --notebook 000");
        CHECK(result.exit_code == 1);
        CHECK_MESSAGE(result.out.find("mask-not-applied") != std::string::npos, result.out);
    }
    TEST_CASE("mistakes of the notebooks are named from the numbers on their pages") {
        const program::Folder folder;
        const auto named = [&](const std::string& page, const std::string& id,
                               const std::string& flags) {
            INFO(page << " " << id);
            const program::Result result =
                run("diagnose " + page_file(folder, page, "weights") + " " + flags);
            CHECK_MESSAGE(result.exit_code == 1, result.err);
            CHECK_MESSAGE(result.out.find("weights: " + id) != std::string::npos, result.out);
        };
        // 002 prints the first sample of four.
        const std::string first = folder / "first.npz";
        REQUIRE(
            run("--seed 1337 --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 --draw-order kqv "
                "--only 'x[0],w_query,w_key,w_value' --format npz -o " +
                first)
                .exit_code == 0);
        const std::string causal = "--given " + first + " --head-dim 16 --mask causal --decimals 4";
        named("nb002_10", "scale-dmodel", causal);
        named("nb002_12", "softmax-axis=query", causal);
        // 003 prints powers of ten, with five digits.
        const std::string sentence =
            "--seed 42 --ids 6,4,7,1,0,2,4,6 --vocab-size 8 --embed-dim 16 "
            "--head-dim 24 --value-dim 28 --init uniform --rtol 1e-3 --atol "
            "1e-9 ";
        named("nb003_18", "softmax-axis=query", sentence + "--projection matrix");
        named("nb003_36", "softmax-axis=head", "--notebook 003 --rtol 1e-3 --atol 1e-9");
    }
    TEST_CASE("tensors that were not compared are reported, and are no success unless requested") {
        const program::Folder folder;
        const std::string file = folder / "mine.npz";
        std::ofstream(folder / "mine.json")
            << R"({"weights": [[0.5, 0.5], [0.5, 0.5]], "loss_curve": [1, 2, 3]})";
        const std::string command = "diagnose " + (folder / "mine.json") + " --ids 1,1";
        const program::Result result = run(command);
        CHECK(result.exit_code == 3);
        CHECK(result.out.find("not compared  loss_curve") != std::string::npos);
        CHECK(result.out.find("everything") == std::string::npos);
        const auto json = nlohmann::json::parse(run(command + " --json").out);
        CHECK(json.at("skipped").at(0).at("name") == "loss_curve");
        CHECK(run(command + " --partial").exit_code == 0);
    }
    TEST_CASE("the program's own folder is right with the flags that made it") {
        const program::Folder folder;
        for (const std::string& flags :
             {std::string(), walk_flags, std::string("--ids '1,2,0;1,2,3' --pad-id 0 --heads 2")}) {
            REQUIRE(run(flags + " --save-dir " + (folder / "own")).exit_code == 0);
            const program::Result result = run("diagnose " + (folder / "own") + " " + flags);
            CHECK_MESSAGE(result.exit_code == 0, result.out << result.err);
            CHECK(result.out.find("vs reference  from your step before") != std::string::npos);
            std::filesystem::remove_all(folder / "own");
        }
    }
    TEST_CASE("x in the user's file is compared if --given contains another x") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe -o " + probe).exit_code == 0);
        std::ofstream(folder / "mine.json") << R"({"x": [[[1, 2, 3, 4, 5, 6, 7, 8]]]})";
        const program::Result result =
            run("diagnose " + (folder / "mine.json") + " --given " + probe);
        CHECK(result.exit_code == 3);
        CHECK(result.out.find("\nx ") != std::string::npos);
    }
    TEST_CASE("query, key and value alone are a start, in any layout") {
        const program::Folder folder;
        REQUIRE(run(walk_flags + "--only query,key,value,weights,merged --format npz -o " +
                    (folder / "mine.npz"))
                    .exit_code == 0);
        const program::Result result = run("diagnose " + (folder / "mine.npz") + " --mask causal");
        CHECK_MESSAGE(result.exit_code == 0, result.out << result.err);
        CHECK(result.out.find("are taken as given") != std::string::npos);
        const program::Result tried = run("diagnose " + (folder / "mine.npz"));
        CHECK_MESSAGE(tried.exit_code == 3, tried.out << tried.err);
        CHECK(tried.out.find("with --mask causal: right; without: causal-unasked") !=
              std::string::npos);
        const program::Result unmasked = run("diagnose " + (folder / "mine.npz") + " --mask none");
        CHECK(unmasked.exit_code == 1);
        CHECK(unmasked.out.find("weights: causal-unasked") != std::string::npos);
    }
    TEST_CASE("a tolerance that is not a number from 0 up is refused") {
        const program::Folder folder;
        std::ofstream(folder / "mine.json") << R"({"weights": [[0.5, 0.5], [0.5, 0.5]]})";
        for (const char* flag : {"--atol nan", "--rtol -1", "--atol -inf"}) {
            const program::Result result = run("diagnose " + (folder / "mine.json") + " " + flag);
            CHECK(result.exit_code == 2);
            CHECK(result.err.find("--") != std::string::npos);
        }
    }
    TEST_CASE("files that cannot be diagnosed are refused") {
        const program::Folder folder;
        std::ofstream(folder / "other.json") << R"({"losses": [[1.0]]})";
        const program::Result result = run("diagnose " + (folder / "other.json"));
        CHECK(result.exit_code == 2);
        CHECK(result.err.find("--map") != std::string::npos);
        CHECK(run("diagnose " + (folder / "other.json") + " --map losses:wieghts").exit_code == 2);
    }

    TEST_CASE("a step saved twice is listed once, and a fix computes it from the steps before it") {
        const program::Folder folder;
        const auto diagnosed = [&](const std::string& walk, const std::string& mistake) {
            REQUIRE(run(walk + mistake + " -o " + (folder / "mine.npz")).exit_code == 0);
            return run("diagnose " + (folder / "mine.npz") + " " + walk).out;
        };
        const std::string twice = diagnosed("--heads 2 ", "--bug query-scaled-first");
        CHECK(has(twice, "value, scaled_scores, row_max"));
        const std::string normed = diagnosed("--qk-norm head ", "--bug qk-norm-layernorm");
        CHECK(has(normed, "  fix       normed_query, key = rms_norm(query, g_query), "));
        const std::string sums =
            diagnosed("", "--rule 'weights[q,k] = exponentials[q,k] / row_sum[q] * 1.1 + 0.01'");
        CHECK(has(sums, "evidence  each row sums to 1.1600, not to 1"));
    }
}
