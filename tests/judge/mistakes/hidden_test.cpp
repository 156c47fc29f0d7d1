// Mistakes that no output names: exercises for others to solve.
#include <doctest/doctest.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "attn/show/render/render.hpp"
#include "tests/judge/mistakes/configurations.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

/// A document in all formats for people, and as JSON.
std::string written(Document document) {
    std::string text;
    const Sink sink = [&](std::string_view piece) { text += piece; };
    render_json(document, sink);
    render_text(document, TextForm::numpy, {}, Words::all, sink);
    render_markdown(document, TextForm::torch, {}, Words::all, sink);
    add_literals(document, CodeLanguage::torch);
    render_ipynb(document, TextForm::torch, {}, sink);
    return text;
}

}  // namespace

TEST_SUITE("mistakes: hidden") {
    TEST_CASE("no format names the mistake, its effect, its lesson or its lines") {
        for (const Mistake& mistake : mistakes()) {
            INFO(mistake.id);
            const Plan plan = *witness_of(mistake);
            const StepTable right = step_table(plan);
            const StepTable wrong = with_mistakes(right, plan, {mistake.id});
            const StepTable hidden = with_mistakes_hidden(right, wrong);
            const Ledger numbers = walk(plan, draw(plan), wrong);
            const Ledger ledger = walk(plan, draw(plan), hidden);
            for (const auto& [name, tensor] : numbers.entries()) {
                CHECK_MESSAGE(same_numbers(tensor, ledger[name]), name);
            }
            const std::string text = written(document_of(plan, ledger, hidden));
            std::string page;
            render_html(document_of(plan, ledger, hidden), {},
                        [&](std::string_view piece) { page += piece; });
            for (const std::string& part :
                 {mistake.title.raw(), mistake.effect.raw(), mistake.lesson.raw(),
                  mistake.fix_torch.raw(), mistake.fix_numpy.raw(), "[" + mistake.id}) {
                if (part.empty()) continue;
                CHECK_MESSAGE(!program::has(text, part), part);
                CHECK_MESSAGE(!program::has(page, part), part);
            }
            CHECK(!program::has(text, "a mistake"));
            CHECK(!program::has(text, "A mistake"));
        }
    }
}

TEST_SUITE("app: hidden mistakes") {
    TEST_CASE("a file of a hidden mistake has its numbers and no mention of it") {
        const program::Folder folder;
        for (const std::string id : {"scale-missing", "causal-triu", "k-dot-k"}) {
            const Mistake& mistake = find_mistake(id);
            const std::string walk =
                "--text 'we all make them' --heads 2 --mask causal --bug " + id;
            const std::string shown = program::run(walk + " --only weights -q").out;
            REQUIRE(shown == program::run(walk + " --hide-mistake --only weights -q").out);
            REQUIRE(shown != program::run(walk + " --bug none").out);
            for (const char* format :
                 {"torch", "numpy", "plain", "markdown", "json", "ipynb", "html", "svg", "csv",
                  "torch --summary", "torch --heatmap", "torch --list-rules", "torch --list-steps",
                  "torch --detail", "html --only weights[0]"}) {
                INFO(id << ' ' << format);
                const auto result = program::run(walk + " --hide-mistake --format " + format);
                REQUIRE(result.exit_code == 0);
                for (const std::string& part :
                     {id, mistake.title.raw(), mistake.effect.raw(), mistake.fix_torch.raw(),
                      mistake.fix_numpy.raw(), std::string("--bug"), std::string("hide-mistake"),
                      std::string("istake:")}) {
                    CHECK_MESSAGE(!program::has(result.out + result.err, part), part);
                }
            }
            CHECK(program::run(walk + " --hide-mistake --save-dir '" + (folder / id) + "'")
                      .exit_code == 0);
            CHECK(!program::has(program::read_file(folder / (id + "/walk.json")), id));
            // The person who looks for the mistake may use diagnose.
            CHECK(program::has(
                program::run("diagnose '" + (folder / (id + "/walk.json")) + "'").out, id));
        }
    }

    TEST_CASE("a request that would reveal the name is refused in one line") {
        program::check_refused("--hide-mistake", "--hide-mistake hides the mistake of --bug");
        program::check_refused("--bug none --hide-mistake",
                               "--hide-mistake hides the mistake of --bug");
        for (const char* beside :
             {"--code numpy", "--format python", "-o walk.py", "--save-config -"}) {
            program::check_refused(std::string("--bug k-dot-k --hide-mistake ") + beside,
                                   "leave one out");
        }
    }
}
