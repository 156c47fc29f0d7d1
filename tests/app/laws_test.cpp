// Laws: facts about attention, both sides of which are walked and proved equal.
#include <nlohmann/json.hpp>

#include "attn/files/io/output_files.hpp"
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
        const std::string text = run("laws").out;
        CHECK(has(text, "key-bias              A bias of the keys changes no weight\n"));
    }
    TEST_CASE("every law is proved, on its own walk and on others") {
        for (const std::string& name : thinned(law_names())) {
            for (std::string flags :
                 {"", "--seed 3 --seq-len 4", "--embed-dim 8 --dtype float64"}) {
                if (name == "two-keys" && has(flags, "seq-len")) continue;  // it has two tokens
                INFO(name << " " << flags);
                const auto result = run("laws " + name + " --json " + flags);
                REQUIRE(result.exit_code == 0);
                const auto law = nlohmann::json::parse(result.out);
                CHECK(law["forms"].size() >= 2);
                CHECK(!law["same"].empty());
                for (const auto& same : law["same"]) CHECK(same["proof"] == "proved");
            }
        }
    }
    TEST_CASE("a law shows its reason, the rules of both sides, their tensors and the proof") {
        const std::string text = run("laws value-bias --seq-len 3").out;
        CHECK(has(text, "value-bias  A bias of the values is added to every context as it is\n"));
        CHECK(has(text, "whoever is attended to"));
        CHECK(has(text, "form before\n  biased_value[k,f] = value[k,f] + bias[f]\n"));
        CHECK(has(text, "form after\n  sum_of_values[h,q,f] = context[h,q,f] + bias[f]\n"));
        const std::size_t first = text.find("tensor("), second = text.find("tensor(", first + 1);
        REQUIRE(second != text.npos);
        const auto tensor_at = [&](std::size_t at) {
            return text.substr(at, text.find("\n\n", at) - at);
        };
        CHECK(tensor_at(first) == tensor_at(second));
        CHECK(has(text, "is the same in before and after, proved for every input"));
    }
    TEST_CASE("a law that is not there is refused, with the nearest name") {
        const auto result = run("laws key-bais");
        CHECK(result.exit_code == 2);
        CHECK(has(result.err, "key-bias"));
        CHECK(run("laws two-keys --seq-len 3").exit_code == 2);
    }
    TEST_CASE("a law is an attention, too: why and pages take it") {
        const auto why = run("why 'weights[0,2,1]' --attention shift --form shifted");
        CHECK(why.exit_code == 0);
        CHECK(has(why.out, "scaled_scores[q,k] - row_max[q]"));
    }
    TEST_CASE("a form that differs by less than rounding is refuted, with exit code 1") {
        const program::Folder folder;
        attn::write_file(folder / "near.attn",
                         "attention near\nform one\nstep scaled_scores[q,k] = scores[q,k] / 2\n"
                         "form two\nstep scaled_scores[q,k] = scores[q,k] / 2.000000000001\n"
                         "same scaled_scores\n");
        const auto result = run("attentions " + (folder / "near.attn") + " --forms");
        CHECK(result.exit_code == 1);
        CHECK(has(result.out, "is not the same function, though rounding hides it here"));
    }
}
