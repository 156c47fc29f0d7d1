// The first minute: help, words that are nearly right, and lines that fit a terminal.
#include <vector>

#include <set>
#include <sstream>

#include "tests/support/terminal.hpp"

using program::has;
using program::lines_of;
using program::run;

namespace {

/// The suggestion in an error: the text after `did you mean `, up to its question mark.
std::string proposed(const std::string& arguments) {
    const std::string reported = run(arguments).err;
    const std::size_t start = reported.find("did you mean ");
    if (start == std::string::npos) return "nothing";
    return reported.substr(start + 13, reported.find('?', start) - start - 13);
}

/// True if a suggested command works, or the suggested flags in place of the typed ones.
bool works(const std::string& proposal) {
    const bool whole = proposal.starts_with("attn-explain");
    return program::shell((whole ? "" : "attn-explain ") + proposal).exit_code <= 1;
}

}  // namespace

TEST_SUITE("app: first minute") {
    TEST_CASE("-h is one screen with the flags that beginners need") {
        const std::string brief = run("-h").out;
        CHECK(lines_of(brief).size() < 24);
    }
    TEST_CASE("a width keeps the sentence; a length or a batch draws x") {
        CHECK(run("--embed-dim 8 --only ids -q").out == run("--only ids -q").out);
        CHECK(has(run("--help").out, "drawn instead of the sentence"));
    }
    TEST_CASE("a command's help lists its own flags and names the help of walk flags") {
        for (const std::string command : {"why", "lint", "compare", "diagnose", "step", "probe"}) {
            INFO(command);
            const std::string help = run(command + " --help").out;
            CHECK(lines_of(help).size() < 60);
            CHECK(!has(help, "--rope-theta"));
            CHECK(has(help, "and every flag of a walk (attention"));
            CHECK(!has(run("man " + command).out, "rope\\-theta"));
        }
        CHECK(!has(run("bench --help").out, "flag of a walk"));
        CHECK(has(run("help why").out, "--what-if"));
    }
    TEST_CASE("flags that only reproduce a notebook come last") {
        CHECK(!has(run("--help").out, "--draw-order"));
        CHECK(has(run("--help").out, "more flags that are rarely needed\n"));
        const std::string help = run("--help all").out;
        const std::size_t last = help.find("\nNumbers of a notebook, bit for bit\n");
        REQUIRE(last != std::string::npos);
        for (const std::string flag : {"--torch-build", "--draw-order", "--init"}) {
            CHECK(help.find("      " + flag + " ") > last);
        }
        for (const std::string setting : {"--burn", "--redraw", "--single-chain"}) {
            CHECK(!has(help, setting));
        }
        CHECK(help.find("\nPositions\n") < last);
        const std::size_t mistakes = help.find("\nMistakes\n");
        CHECK(help.find("--corrected ", mistakes) < help.find("\n\n", mistakes));
        CHECK(help.find("--bug ", mistakes) < help.find("\n\n", mistakes));
    }
    TEST_CASE("help has topics, flags and the names of other libraries") {
        for (const auto& [topic, flag] : {std::pair{"masks", "--lengths"},
                                          {"MASK", "--causal-align"},
                                          {"positions", "--rope-scaling"},
                                          {"cache", "--prefill"},
                                          {"numbers", "--torch-build"},
                                          {"output", "--edgeitems"},
                                          {"notebooks", "--corrected"},
                                          {"mistakes", "--bug"},
                                          {"input", "--ids"},
                                          {"model", "--tokenizer"},
                                          {"--rope", "--rope"},
                                          {"--depth", "--depth"},
                                          {"-o", "--output"},
                                          {"d_model", "--embed-dim"}}) {
            INFO(topic);
            const program::Result result = run(std::string("help ") + topic);
            CHECK(result.exit_code == 0);
            CHECK(has(result.out, std::string(" ") + flag + " "));
        }
        CHECK(!has(run("help --rope").out, "--rope-theta"));
        CHECK(run("help all").out == run("--help all").out);
    }
    TEST_CASE("bugs lists the mistakes on a subject") {
        CHECK(has(run("bugs rope --json").out, "\"id\": \"rope-missing\""));
        CHECK(!has(run("bugs rope --json").out, "\"id\": \"scale-missing\""));
    }
    TEST_CASE("a name from another library is suggested before a similar spelling, and works") {
        for (const auto& [typed, meant] : {std::pair{"--num-attention-heads 2", "--heads 2"},
                                           {"--n_head=3", "--heads 3"},
                                           {"--NUM_KV_HEADS 1", "--kv-heads 1"},
                                           {"--gqa 1", "--kv-heads 1"},
                                           {"--hidden_size 6", "--embed-dim 6"},
                                           {"--is_causal True", "--mask causal"},
                                           {"lint --causal", "--mask causal"},
                                           {"--window-size 3", "--mask causal,window:3"},
                                           {"--swa", "--mask causal,window:4"},
                                           {"--attn_weights", "--only weights"},
                                           {"--alibi", "--position-bias alibi"},
                                           {"--softmax key", "--softmax-axis key"},
                                           {"--quiet", "-q"},
                                           {"--verbose", "--detail"},
                                           {"--svg", "--format svg"},
                                           {"--qwen3", "--preset qwen3"},
                                           {"--batch_size 2", "--batch 2"},
                                           {"generate --max-new-tokens 3", "--tokens 3"},
                                           {"--model stories", "--model-file stories"},
                                           {"--nhead two", "--heads"},
                                           {"--variant sdpa", "fused"},
                                           {"--tetx hi", "--text"},
                                           {"--output-proj", "--output-projection"}}) {
            INFO(typed);
            CHECK(proposed(typed) == meant);
        }
        for (const std::string line : {"--num_heads 2", "--swa", "--quiet", "--softmax key",
                                       "--double", "--rotary", "--d-k 6"}) {
            INFO(line);
            CHECK(works(proposed(line)));
        }
    }
    TEST_CASE(
        "a word is recognised as a flag, a value or a text, and the whole command is suggested") {
        CHECK(works(proposed("sinusoidal")));
        // Flags that the command does not have are left out of the suggestion.
        CHECK(run("--ids '1 2  3'").out == run("--ids 1,2,3").out);
        CHECK(run("--ids '1, 2 3;4 5 6'").out == run("--ids '1,2,3;4,5,6'").out);
    }

    TEST_CASE("steps have the names of other libraries, too") {
        for (const auto& [typed, meant] : {std::pair{"--only ATTN", "weights"},
                                           {"--only q", "query"},
                                           {"--only Scores", "scores"},
                                           {"--from logits", "scores"},
                                           {"--only contxet", "context"},
                                           {"why 'attention[0,0]'", "weights"},
                                           {"why 'wieghts[2,1]'", "weights"},
                                           {"compare loop vectorised", "vectorized"},
                                           {"compare 'softcap 5' ''", "'--softcap 5'"}}) {
            INFO(typed);
            CHECK(proposed(typed) == meant);
        }
        CHECK(run("compare loop 'fused --heads 2' --heads 2").exit_code <= 1);
        CHECK(has(run("compare loop loop --rope half").out, "inverse_frequencies  0 "));
    }
    TEST_CASE("a settings file may hold settings that this command does not print") {
        const program::Folder folder;
        const std::string file = "'" + (folder / "a.txt") + "'";
        REQUIRE(run("--heads 2 -q --detail --precision 3 --save-config " + file).exit_code == 0);
        const program::Result why = run("why 'weights[0,0,1]' --config " + file);
        CHECK_MESSAGE(why.exit_code == 0, why.err);
        CHECK(why.out == run("why 'weights[0,0,1]' --heads 2").out);
        CHECK(has(run("-q --only x --kv-heads 1 --heads 2 --save-config -").out,
                  "\"kv_heads\": \"1\""));
        REQUIRE(run("notebook 003 --seed 3 --save-config " + file).exit_code == 0);
        CHECK(run("--config " + file + " --only weights").out ==
              run("--notebook 003 --seed 3 --only weights").out);
        CHECK(run("notebook --config " + file).out == run("notebook 003 --seed 3").out);
    }
    TEST_CASE("lists, tables and errors are wrapped between words on a terminal") {
        for (const std::string command :
             {"generate --bug gqa-tile --tokens 4", "heads --text 'one two three four'",
              "--summary --heads 2", "--list-presets", "why 'lambda_full[0]' --differential",
              "notebook 001 --as-flags", "--only nothing --preset deepseek"}) {
            INFO(command);
            Terminal terminal("export PAGER=cat; attn-explain " + command, 80, 150);
            const std::string screen = terminal.wait_for("[ended]");
            const program::Result piped = run(command);
            std::istringstream whole(piped.out + piped.err + "[ended] \\");
            const std::set<std::string> known{std::istream_iterator<std::string>(whole), {}};
            // A terminal that wraps lines itself would have broken words.
            std::istringstream words(screen);
            for (std::string word; words >> word;) CHECK_MESSAGE(known.contains(word), word);
        }
        CHECK(lines_of(run("--only nothing").err).size() == 1);
    }
}
