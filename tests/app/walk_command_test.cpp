#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using program::check_refused;
using program::run;
using program::shell;

TEST_SUITE("app: walk") {
    TEST_CASE("plain flags reproduce the results of well-known tutorials") {
        const std::string x = "--x data/six-by-three.csv -q ";
        CHECK(run(x + "--projection matrix --init uniform --weight-layout in-out --head-dim 2 "
                      "--seed 123 --only 'context[0]'")
                  .out == "tensor([0.2996, 0.8053])\n");
        CHECK(run(x + "--batch 2 --heads 2 --head-dim 2 --projection per-head --merge --seed 123 "
                      "--mask causal --only 'merged[1,1]'")
                  .out == "tensor([-0.5874,  0.0058,  0.5891,  0.3257])\n");
        CHECK(run(x + "--batch 2 --heads 2 --head-dim 1 --output-projection --output-bias "
                      "--output-dim 2 --seed 123 --mask causal --only 'output[0,:2]'")
                  .out == "tensor([[0.3190, 0.4858],\n        [0.2943, 0.3897]])\n");
    }

    TEST_CASE("flags that do not fit are refused in one line with a remedy") {
        check_refused("--seq-len 1000000000", "96.0 GB");
        check_refused("--seq-len 1000000000 --only context[5]", "96.0 GB");
        check_refused("--embed-dim 1000000000000 --seq-len 2", "would need");
        check_refused("--seq-len 100000", "--variant fused");
        check_refused("--heads 3000000000 --head-dim 3000000000", "beyond any memory");
    }

    TEST_CASE("unreadable and inconsistent files are refused by name") {
        const program::Folder folder;
        const auto write = [&](const std::string& name, const std::string& bytes) {
            std::ofstream(folder / name, std::ios::binary) << bytes;
            return folder / name;
        };
        const std::string header =
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 4), }";
        const std::string npy = std::string("\x93NUMPY\x01\x00", 8) +
                                static_cast<char>(header.size() + 1) + std::string(1, '\0') +
                                header + "\n";
        check_refused("--x " + write("lying.npy", npy), "lying.npy: ");
        check_refused("--x " + write("cut.npy", npy.substr(0, 20)), "cut.npy: ");
        check_refused("--x " + write("empty.csv", ""), "empty.csv: ");
        check_refused("--x " + write("ragged.csv", "1,2\n3\n"), "ragged.csv: ");
        check_refused("--text-file " + write("blank.txt", " \n\n"), "blank.txt: ");
        check_refused("--text-file " + write("latin1.txt", "caf\xe9\n"), "not UTF-8");
    }

    TEST_CASE("a full disk or an unwritable path is an error, a closed pipe is not") {
        const program::Result full = shell("attn-explain >/dev/full");
        CHECK(full.exit_code == 2);
        CHECK(full.err.find("No space left on device") != std::string::npos);
        const program::Result piped =
            shell("attn-explain --seq-len 60 --threshold inf | head -1 >/dev/null");
        CHECK(piped.exit_code == 0);
        CHECK(piped.err.empty());
        const program::Result ignored = shell(
            "trap '' PIPE; { attn-explain --seq-len 200 --threshold inf; echo $? >&2; } | true");
        CHECK_MESSAGE((ignored.err == "0\n"), ignored.err);
    }

    TEST_CASE("a file is written whole, and an old file stays if the walk fails") {
        const program::Folder folder;
        const std::string path = folder / "out.txt";
        CHECK(run("--only weights -o " + path).exit_code == 0);
        const std::string before = program::read_file(path);
        CHECK(before == run("--only weights").out);
        CHECK(run("--only nothing -o " + path).exit_code == 2);
        CHECK(program::read_file(path) == before);
    }

    TEST_CASE("JSON contains the configuration and every step, and its numbers read back") {
        const nlohmann::json walk = nlohmann::json::parse(
            run("--format json --ids '1,2,0;' --pad-id 0 --mask padding").out);
        CHECK(walk.at("attn_explain").get<std::string>() == "2.0.0");
        CHECK(walk.at("config").at("seed") == 42);
        CHECK(walk.at("config").at("head_dim") == 4);
        std::vector<std::string> names;
        for (const auto& step : walk.at("steps")) names.push_back(step.at("name"));
        CHECK(names == std::vector<std::string>{"ids", "embedding", "x", "w_query", "w_key",
                                                "w_value", "query", "key", "value", "scores",
                                                "scaled_scores", "mask", "masked_scores", "row_max",
                                                "exponentials", "row_sum", "weights", "context"});
        const auto& masked = walk.at("steps").at(12);
        CHECK(masked.at("axes") == nlohmann::json({"batch", "query", "key"}));
        CHECK(masked.at("shape") == nlohmann::json({1, 3, 3}));
        CHECK(masked.at("data").at(0).at(0).at(2) == "-inf");
        CHECK(masked.at("dtype") == "float32");
    }

    TEST_CASE("a fully masked row is reported on standard error") {
        const program::Result result =
            run("--ids '1,2' --lengths 0 --mask padding --only weights -q");
        CHECK(result.out == "tensor([[nan, nan],\n        [nan, nan]])\n");
        CHECK(result.err.find("note: 2 rows hide every key; their weights are nan") !=
              std::string::npos);
    }

    TEST_CASE("the list of steps is in the order of the walk, as text and in JSON") {
        const std::string flags = "--list-steps --rope half --qk-norm head --qk-norm-place after ";
        const std::string words = run(flags).out;
        const std::string json = run(flags + "--format json").out;
        CHECK(words.find("rotated_query") < words.find("normed_query"));
        CHECK(json.find("rotated_query") < json.find("normed_query"));
    }
}
