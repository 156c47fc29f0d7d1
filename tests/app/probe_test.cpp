// probe: inputs that reveal mistakes, for attention as current models compute it.
#include <nlohmann/json.hpp>
#include <set>

#include "attn/judge/mistakes/mistake.hpp"
#include "tests/judge/mistakes/configurations.hpp"
#include "tests/support/program.hpp"

using program::check_refused;
using program::run;

namespace {

/// The walks on which the mistakes of current models show, each with more tokens than its window.
const std::vector<std::string> probed_families{
    "--preset gpt2",
    "--preset t5",
    "--preset t5 --mask causal --past 4",
    "--preset neox",
    "--preset llama2 --mask causal,padding --lengths 7,5,6",
    "--preset llama2 --past 3",
    "--preset llama2 --rope interleaved --past 3",
    "--preset llama3",
    "--preset mistral --past 4",
    "--preset mistral --prefill 3",
    "--preset mistral --softcap 0.5 --scale 0.25 --rope-scaling yarn:4:64:8:1",
    "--preset gemma3",
    "--preset olmo2",
    "--preset qwen3 --norm-eps 0.05",
    "--preset gpt-oss",
    "--preset gpt-oss --sink zero",
    "--heads 6 --head-dim 4 --output-projection --position-bias alibi",
    "--heads 6 --kv-heads 3 --head-dim 4 --output-projection --rope half --mask causal,chunk:3",
    "--heads 2 --head-dim 4 --output-projection --mask causal,documents:3+4",
    "--heads 2 --head-dim 4 --output-projection --mask prefix:3 --position-embedding "
    "sinusoidal --positions 2,3,4,5,6,7,8",
    "--heads 2 --head-dim 4 --output-projection --rope interleaved --scale none",
    "--heads 2 --head-dim 4 --mla 6 --rotary-dim 4 --output-projection --mask causal "
    "--rope-scaling yarn:40:64:8:1:mscale_all_dim=1",
    "--heads 2 --head-dim 4 --differential 1 --output-projection --mask causal",
    "--heads 6 --kv-heads 3 --head-dim 4 --output-projection --projection fused "
    "--position-embedding learned --positions 2,3,4,5,6,7,8",
    "--heads 2 --head-dim 16 --output-projection --rope half --rope-theta 150000 --rope-scaling "
    "yarn:4:64:truncate=false --positions 0,100,205,350,407,600,701",
    "--ids '0,0,5,1,2;0,0,3,3,4' --pad-id 0 --vocab-size 9 --heads 2 --embed-dim 8 "
    "--output-projection --mask padding --position-embedding sinusoidal --positions 0,0,0,1,2",
    "--heads 2 --embed-dim 8 --output-projection --position-embedding sinusoidal",
    "--heads 2 --embed-dim 8 --output-projection --qk-norm l2",
    "--memory-len 5 --heads 2 --embed-dim 8 --scale none --weights data/t5-table.npz",
    "--heads 2 --head-dim 16 --rope half --positions 0,1000,2050,3500,4070,6000,7010"};

}  // namespace

TEST_SUITE("app: probe") {
    TEST_CASE("on probes of model families, the mistakes of these families show in the output") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        std::set<std::string> shown;
        for (const std::string& flags : probed_families) {
            REQUIRE(run("probe " + flags + " -o " + probe).exit_code == 0);
            const program::Result result =
                run("diagnose --power --json --given " + probe + " " + flags);
            INFO(flags << "\n" << result.err);
            REQUIRE(result.exit_code == 0);
            const auto power = nlohmann::json::parse(result.out);
            for (const auto& group : power.at("groups")) {
                for (const auto& id : group) shown.insert(id);
            }
        }
        std::string unseen;
        for (const attn::Mistake& mistake : attn::mistakes()) {
            if (attn::testing::is_of_today(mistake.id) && !shown.contains(mistake.id)) {
                unseen += " " + mistake.id;
            }
        }
        CHECK(unseen == "");
    }

    TEST_CASE("the result of a right program on a probe is right, and a mistake is named") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        const std::string mine = folder / "mine.npz";
        for (const std::string flags : {"--preset mistral", "--preset gpt2", "--preset t5",
                                        "--preset neox --seed 3", "--preset gpt-oss --past 3"}) {
            INFO(flags);
            REQUIRE(run("probe " + flags + " -o " + probe).exit_code == 0);
            const std::string walk =
                flags + " --random randn --batch 3 --seq-len 7 --format npz -o " + mine;
            for (const std::string bug : {"", "merge-reshape"}) {
                REQUIRE(run(walk + (bug.empty() ? "" : " --bug " + bug)).exit_code == 0);
                const program::Result result =
                    run("diagnose --json " + mine + " --given " + probe + " " + flags);
                INFO(result.out << result.err);
                CHECK(result.exit_code == (bug.empty() ? 0 : 1));
                const auto findings = nlohmann::json::parse(result.out).at("findings");
                REQUIRE(findings.empty() == bug.empty());
                if (!bug.empty()) CHECK(findings.front().at("id") == bug);
            }
        }
    }

    TEST_CASE("a probe holds its settings: results made from it need no flags") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        const std::string mine = folder / "mine.npz";
        for (const std::string flags :
             {"--preset llama3", "--preset deepseek", "--preset deepseek --mla-absorbed",
              "--differential 2 --heads 2 --embed-dim 8 --output-projection",
              "--preset gemma2 --softcap 2", "--preset gpt-oss --past 3", "--preset t5",
              "--ids '0,5,1,2;0,3,3,4' --pad-id 0 --mask padding --heads 2 --embed-dim 8"}) {
            INFO(flags);
            REQUIRE(run("probe " + flags + " -o " + probe).exit_code == 0);
            const bool has_words = flags.find("--ids") != std::string::npos;
            const std::string walk = flags + " --weights " + probe +
                                     (has_words ? "" : " --random randn --batch 3 --seq-len 7") +
                                     " -o " + mine;
            for (const std::string bug : {"", "merge-reshape"}) {
                REQUIRE(run(walk + (bug.empty() ? "" : " --bug " + bug)).exit_code == 0);
                const program::Result found =
                    run("diagnose --json --partial " + mine + " --given " + probe);
                INFO(found.out << found.err);
                CHECK(found.exit_code == (bug.empty() ? 0 : 1));
                const auto findings = nlohmann::json::parse(found.out).at("findings");
                REQUIRE(findings.empty() == bug.empty());
                if (!bug.empty()) CHECK(findings.front().at("id") == bug);
            }
            CHECK(run("diagnose --power --json --given " + probe).out ==
                  run("diagnose --power --json --given " + probe + " " + flags).out);
        }
        const program::Result other =
            run("diagnose " + mine + " --given " + probe + " --heads 4 --partial");
        CHECK(other.err.find("--pad-id 0") != std::string::npos);
        CHECK(other.err.find("--heads") == std::string::npos);
    }

    TEST_CASE("an attention that reads no values, or no keys, has a probe too") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz", mine = folder / "mine.npz";
        for (const std::string form : {"expanded", "absorbed"}) {
            CAPTURE(form);
            const std::string walk = "--attention latent --form " + form;
            REQUIRE(run("probe " + walk + " -o " + probe).exit_code == 0);
            REQUIRE(
                run(walk + " --batch 3 --seq-len 7 --weights " + probe + " -o " + mine).exit_code ==
                0);
            const program::Result result = run("diagnose " + mine + " --given " + probe);
            CHECK_MESSAGE(result.exit_code == 0, result.out << result.err);
        }
    }

    TEST_CASE("gains of a probe differ within a pair, and flags it cannot have are refused") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe --preset qwen3 -o " + probe).exit_code == 0);
        CHECK(run("--preset qwen3 --seq-len 3 --weights " + probe + " --only g_query -q").out ==
              "tensor([0.5000, 1.2500, 2.0000, 1.0000])\n");
        // Biases that training initialises to 0 are included, too: one that is left out shows.
        REQUIRE(run("probe --attention forgetting -o " + probe).exit_code == 0);
        CHECK(run("--attention forgetting --weights " + probe + " --only b_forget -q").out ==
              "tensor([-0.5000,  0.2500])\n");
        const std::string code = folder / "mine.py";
        REQUIRE(run("probe --code torch --preset llama3 -o " + code).exit_code == 0);
        const std::string text = program::read_file(code);
        CHECK(text.find("w_query = p[\"w_query\"]") != std::string::npos);
        CHECK(text.find("repeated_key = rotated_key.repeat_interleave(3") != std::string::npos);
        CHECK(text.find("print(weights)") == std::string::npos);
        check_refused("probe --variant fused -o probe.npz", "fused");
    }
}
