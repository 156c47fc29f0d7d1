// Laws: facts about attention, both sides of which are walked and proved equal.
#include <nlohmann/json.hpp>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/support/program.hpp"
#include "tests/support/thinned.hpp"

using program::has;
using program::run;

namespace {

std::vector<std::string> law_names() {
    std::vector<std::string> names;
    for (const auto& law : nlohmann::json::parse(run("laws --json").out)) {
        names.push_back(law["name"].get<std::string>());
    }
    return names;
}

}  // namespace

TEST_SUITE("app: laws") {
    TEST_CASE("twenty laws are listed, each with a sentence and a reason") {
        const auto list = nlohmann::json::parse(run("laws --json").out);
        CHECK(list.size() >= 20);
        for (const auto& law : list) {
            CHECK(law["title"].get<std::string>().size() > 20);
            CHECK(law["lesson"].get<std::string>().size() > 60);
        }
    }
    TEST_CASE("every law is proved on its own walk and on others") {
        for (const std::string& name : thinned(law_names())) {
            for (std::string flags :
                 {"", "--seed 3 --seq-len 4", "--embed-dim 8 --dtype float64"}) {
                if (name == "two-keys" && has(flags, "seq-len")) continue;  // it has two tokens
                INFO(name << " " << flags);
                const auto result = run("laws " + name + " --json " + flags);
                REQUIRE(result.exit_code == 0);
                const auto law = nlohmann::json::parse(result.out);
                CHECK(law["forms"].size() >= 2);
                CHECK(!law["comparisons"].empty());
                for (const auto& same : law["comparisons"]) CHECK(same["proof"] == "proved");
            }
        }
    }
    TEST_CASE("a law shows its reason, the rules of both sides, their tensors and the proof") {
        const std::string text = run("laws value-bias --seq-len 3").out;
        const std::size_t first = text.find("tensor("), second = text.find("tensor(", first + 1);
        REQUIRE(second != text.npos);
        const auto tensor_at = [&](std::size_t at) {
            return text.substr(at, text.find("\n\n", at) - at);
        };
        CHECK(tensor_at(first) == tensor_at(second));
    }
    TEST_CASE("laws of the scores are proved with a cap, without a scale and with other sizes") {
        for (const char* walk :
             {"shift --softcap 30", "shift --scale none", "two-keys --scale none",
              "masked-is-removed --softcap 5", "online-softmax --mask causal --softcap 5",
              "value-bias --value-dim 3", "later-tokens --head-dim 3 --value-dim 5"}) {
            INFO(walk);
            const auto result = run(std::string("laws ") + walk);
            CHECK(result.exit_code == 0);
            CHECK(has(result.out, "proved for every input"));
        }
    }
    TEST_CASE("a law that does not hold names the flag without which it does") {
        const auto sink = run("laws shift --sink zero --heads 2");
        CHECK(sink.exit_code == 1);
        CHECK(has(sink.out, "The law holds without --sink zero."));
        const auto mask = run("laws first-token --mask none --seq-len 4");
        CHECK(has(mask.out, "The law holds without --mask none."));
    }
    TEST_CASE("a law that does not apply names all flags in the way") {
        const auto heads = run("laws one-matrix --heads 4 --kv-heads 2 --embed-dim 8");
        CHECK(heads.exit_code == 2);
        CHECK(
            has(heads.err, "does not apply to walks with --heads 4 and --kv-heads 2: leave them"));
    }
    TEST_CASE("a law names existing steps and mistakes, and its conditions are known words") {
        const attn::Plan plan = attn::resolve({});
        for (const std::string& name : attn::shipped_law_names()) {
            const auto law = attn::parse_attention(attn::shipped_attention(name), name);
            std::string_view list = law.explains;
            while (!list.empty()) {
                const std::string part(attn::next_part(list, ";"));
                const std::size_t end = std::min(part.find(" when "), part.size());
                if (end < part.size()) attn::conditions_true(part.substr(end + 6), plan);
                std::string_view names = std::string_view(part).substr(0, end);
                while (!names.empty()) {
                    const std::string_view each = attn::next_token(names);
                    const auto is_it = [&](const auto& entry) {
                        return entry.id == each || entry.family() == each;
                    };
                    CHECK_MESSAGE((std::ranges::count(attn::step_table(), each, &attn::Step::name) +
                                   std::ranges::count_if(attn::mistakes(), is_it) +
                                   std::ranges::count_if(attn::harmless_differences(), is_it)) > 0,
                                  name, " ", each);
                }
            }
        }
    }
    TEST_CASE("why names the most specific law behind a step") {
        const auto law_of = [](const std::string& what) {
            const auto why = nlohmann::json::parse(run("why " + what + " --json").out);
            return why.value("law", "");
        };
        CHECK(law_of("'weights[0,1]'") == "rows-sum-to-1");
        CHECK(law_of("'weights[1,0]' --mask causal") == "masked-is-removed");
        const std::string pair = "--text 'a b c' --text 'd e f' --lengths 3,2 ";
        CHECK(law_of("'weights[1,1,0]' --mask causal,padding " + pair) == "later-tokens");
        CHECK(law_of("'weights[1,1,0]' --mask padding " + pair) == "masked-is-removed");
        CHECK(law_of("'key[0,1]' --bias") == "key-bias");
        CHECK(law_of("'key[0,1]' --bias --rope half").empty());
        CHECK(law_of("'rotated_key[0,1]' --rope half") == "rope-distance");
        CHECK(law_of("'context[0,1]'").empty());
        // A walk with another rule, or with a mistake, has no law of the standard walk.
        CHECK(law_of("'weights[0,1]' --rule 'weights[q,k] = 2 * scores[q,k]'").empty());
        CHECK(law_of("'weights[0,1]' --bug softmax-axis=query").empty());
        CHECK(law_of("'shifted_scores[0,2,1]' --attention shift").empty());
    }
    TEST_CASE("diagnose and bugs name the law behind a harmless form") {
        const program::Folder folder;
        const std::string file = folder / "theirs.npz";
        for (const auto& [flags, law] : std::vector<std::pair<std::string, std::string>>{
                 {"--bug query-scaled-first", "scale"},
                 {"--bug finite-fill=-1e9 --mask causal", "masked-is-removed"},
                 {"--bug rope-concat-both --rope interleaved", "rope-pairings"},
                 {"--bug mask-after-softmax --mask causal", "masked-afterwards"}}) {
            INFO(flags);
            run(flags + " -o " + file);
            const auto printed = nlohmann::json::parse(run("diagnose " + file + " --json").out);
            REQUIRE(!printed["findings"].empty());
            CHECK(printed["findings"][0].value("law", "") == law);
            CHECK(has(run("diagnose " + file).out, "  law       "));
        }
        CHECK(nlohmann::json::parse(run("bugs scale-twice --json").out)["law"] == "scale");
    }
    TEST_CASE("a form that differs by less than rounding is refuted, with exit code 1") {
        const program::Folder folder;
        attn::write_file(folder / "near.attn",
                         "attention near\nform one\nstep scaled_scores[q,k] = scores[q,k] / 2\n"
                         "form two\nstep scaled_scores[q,k] = scores[q,k] / 2.000000000001\n"
                         "same scaled_scores\n");
        const auto result = run("attentions " + (folder / "near.attn") + " --forms");
        CHECK(result.exit_code == 1);
        CHECK(has(result.out, "is not the same function, although its numbers are the same here"));
    }
}
