// --format svg and html as a user requests them.
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "attn/files/io/read_tensor.hpp"
#include "tests/support/golden.hpp"

using program::has;
using program::is_installed;
using program::run;
using program::shell;

namespace {

const std::string eight = "--text 'the cat sat on the mat and slept' --heads 2 --mask causal ";

/// The values that a figure has in the titles of its cells, by address.
std::map<std::string, std::string> titled_cells(const std::string& svg) {
    static const std::regex form("<title>([a-z_]+\\[[0-9,]*\\]) = ([^<]*)</title>");
    std::map<std::string, std::string> cells;
    for (std::sregex_iterator it(svg.begin(), svg.end(), form), end; it != end; ++it) {
        cells[(*it)[1]] = (*it)[2];
    }
    return cells;
}

/// Compares every number of nested lists with the cell of the figure in that place.
std::size_t check_cells(const nlohmann::json& data, const std::string& address,
                        const std::map<std::string, std::string>& cells) {
    if (!data.is_array()) {
        const std::string cell = address + "]";
        REQUIRE_MESSAGE(cells.count(cell) == 1, cell);
        const std::string value = data.is_string() ? data.get<std::string>() : data.dump();
        const std::string& written = cells.at(cell);
        const bool same = written == value || std::stod(written) == data.get<double>();
        CHECK_MESSAGE(same, cell << ": " << written << " instead of " << value);
        return 1;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        const std::string between = address.ends_with('[') ? "" : ",";
        count += check_cells(data[i], address + between + std::to_string(i), cells);
    }
    return count;
}

}  // namespace

TEST_SUITE("app: figures") {
    TEST_CASE("a figure's cells are those of the JSON, and only text that fits is drawn") {
        const std::string what = eight + "--only query,masked_scores,weights ";
        const program::Result figure = run(what + "--format svg");
        REQUIRE(figure.exit_code == 0);
        const auto cells = titled_cells(figure.out);
        std::size_t count = 0;
        const auto walk = nlohmann::json::parse(run(what + "--json").out);
        for (const auto& step : walk.at("steps")) {
            count += check_cells(step.at("data"), step.at("name").get<std::string>() + "[", cells);
        }
        CHECK(count == 2 * 8 * 4 + 2 * 2 * 8 * 8);
        CHECK(count == cells.size());
        CHECK(figure.out.find(">0.6013</text>") != std::string::npos);
        CHECK(figure.out.find(">-inf</text>") != std::string::npos);
        CHECK(figure.out == run(what + "--format svg").out);
        // For readers without colours or style sheets.
        CHECK(figure.out.find("<desc>") != std::string::npos);
        CHECK(figure.out.find("<rect class=\"page\" fill=\"#ffffff\"") != std::string::npos);
    }

    TEST_CASE("cells have the requested decimals, or colours alone; hidden cells are marked") {
        const auto count = [](const std::string& text, const std::string& part) {
            std::size_t found = 0;
            for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
            return found;
        };
        const std::string weights =
            "--mask causal --heads 2 --seq-len 4 --embed-dim 8 --format svg --only ";
        const std::string two = run(weights + "weights --digits 2").out;
        CHECK(has(two, ">1.00</text>"));
        CHECK_FALSE(has(two, ">1.0000</text>"));
        const std::string none = run(weights + "weights --digits none").out;
        CHECK_FALSE(has(none, ">1.00"));
        CHECK(count(none, "data-cell") == 32);
        // In each of two heads, 6 keys come after one of the 4 queries, though no scores are drawn.
        CHECK(count(two, "class=\"hid\" data-cell") == 12);
        CHECK(count(run(weights + "'weights[1]'").out, "class=\"hid\" data-cell") == 6);
        CHECK(has(run("--digits 2 -q").err, "--format svg"));
    }

    TEST_CASE("every figure in every theme is XML that a renderer draws") {
        if (!is_installed("xmllint") || !is_installed("rsvg-convert")) return;
        for (const std::string figure : {"matrix", "arcs", "flow"}) {
            for (const std::string theme : {"auto", "light", "dark", "print"}) {
                const program::Result drawn =
                    shell("attn-explain " + eight + "--output-projection --format svg --figure " +
                          figure + " --theme " + theme + " | xmllint --noout - && attn-explain " +
                          eight + "--format svg --figure " + figure + " --theme " + theme +
                          " | rsvg-convert | od -A n -c -N 4");
                CHECK_MESSAGE(drawn.exit_code == 0, figure << " " << theme << drawn.err);
                CHECK_MESSAGE(drawn.out.find("P   N   G") != std::string::npos, drawn.out);
            }
        }
    }

    TEST_CASE("a figure of twelve heads of 32 tokens is smaller than 200 kB") {
        const std::string many = "--seq-len 32 --heads 12 --embed-dim 48 --format svg ";
        for (const std::string more :
             {"--only weights", "--only scores", "--only weights --figure arcs",
              "--only masked_scores --mask causal"}) {
            const program::Result figure = run(many + more);
            CHECK(figure.exit_code == 0);
            CHECK_MESSAGE(figure.out.size() <= 200000, more << ": " << figure.out.size());
        }
    }

    TEST_CASE("the flow has an arrow for each tensor that a step reads") {
        const std::string flow =
            run("--heads 2 --mask causal --output-projection --format svg --figure flow").out;
        for (const std::string box : {"w_query", "masked_scores", "mask", "merged", "output"}) {
            CHECK_MESSAGE(flow.find(">" + box + "</text>") != std::string::npos, box);
        }
        CHECK(flow.find(">row_max</text>") == std::string::npos);
        std::size_t arrows = 0;
        for (std::size_t at = flow.find("#tip"); at != flow.npos; at = flow.find("#tip", at + 1)) {
            ++arrows;
        }
        // x, three projections, three splits, scores 2, scaled, masked 2, weights, context 2,
        // merged, output 2
        CHECK(arrows == 2 + 6 + 3 + 2 + 1 + 2 + 1 + 2 + 1 + 2);
    }

    TEST_CASE("in the flow a gradient is next to its step, and its arrow points back") {
        const std::string flags = "--heads 2 --mask causal --format svg --figure flow ";
        const std::string flow = run(flags + "--backward").out;
        const auto place = [&](const std::string& box) {
            const std::size_t end = flow.find(">" + box + "</text>");
            REQUIRE_MESSAGE(end != std::string::npos, box);
            const std::size_t begin = flow.rfind("<text", end);
            const auto number = [&](const char* name) {
                return std::stod(flow.substr(flow.find(name, begin) + 4));
            };
            return std::pair(number(" x=\""), number(" y=\""));
        };
        for (const std::string step : {"x", "w_key", "value", "masked_scores", "weights"}) {
            CHECK(place("d_" + step).second == place(step).second);
            CHECK(place("d_" + step).first > place("merged").first);
            CHECK(place("d_" + step).first - place(step).first ==
                  doctest::Approx(place("d_merged").first - place("merged").first).epsilon(1e-3));
        }
        CHECK(flow.find(">row_dot</text>") == std::string::npos);
        CHECK(place("loss").second > place("merged").second);
        const std::string rotated_forward = run(flags).out;
        CHECK(rotated_forward.find(">d_") == std::string::npos);
    }

    TEST_CASE("tokens of any script label the axes, per sequence") {
        const std::string figure =
            run("--text 'the black cat' --text '日本語 א' --mask padding --only weights "
                "--format svg")
                .out;
        for (const std::string word : {"black", "日本語", "א", "&lt;pad&gt;", "batch 1"}) {
            CHECK_MESSAGE(figure.find(">" + word + "</text>") != std::string::npos, word);
        }
    }

    TEST_CASE("the scale of weights ends at 1 in every figure, unless another end is requested") {
        const std::string only = "--text 'red blue green' --only weights --format ";
        CHECK(run(only + "svg").out.find(">1</text>") != std::string::npos);
        CHECK(run(only + "svg --heatmap=tensor").out.find(">1</text>") == std::string::npos);
        const std::string page = run(only + "html").out;
        const std::size_t weights = page.find("\n\"weights\":{");
        CHECK(page.substr(page.find("\"limit\":", weights), 9) == "\"limit\":1");
    }

    TEST_CASE("two walks on a page share one scale") {
        const std::string page =
            run("--text 'red blue green' --format html --html-compare '--seed 7'").out;
        const auto ends = [&](std::size_t from) {
            const std::size_t at = page.find("\n\"scores\":{", from);
            const std::size_t limit = page.find("\"limit\":", at);
            return page.substr(limit, page.find_first_of(",}", limit) - limit);
        };
        const std::string first = ends(page.find("id=\"views\""));
        CHECK(first.size() > 8);
        CHECK(first == ends(page.find("id=\"other-views\"")));
    }

    TEST_CASE("an embedded page is a fragment") {
        const std::string page = run("--text 'red blue' --format html --embed").out;
        CHECK(page.starts_with("<div data-attn-explain>"));
        for (const std::string of_pages : {"<html", "<body", "<title"}) {
            CHECK_MESSAGE(page.find(of_pages) == std::string::npos, of_pages);
        }
        CHECK(run("--text 'red blue' --embed").err.find("needs --format html") !=
              std::string::npos);
    }

    TEST_CASE("flags without effect are reported, and impossible ones are refused") {
        CHECK(run("--figure arcs").err.find("--figure has no effect here: it needs --format svg") !=
              std::string::npos);
        CHECK(run("--theme dark").err.find("needs --format svg or html") != std::string::npos);
        CHECK(run("--html-compare '--mask none'").err.find("needs --format html") !=
              std::string::npos);
        const program::Result bad = run("--format html --html-compare '--msk none'");
        CHECK(bad.exit_code == 2);
        CHECK(bad.err.find("--msk") != std::string::npos);
        CHECK(bad.out.empty());
    }

    TEST_CASE("a page of a slice holds whole tensors and opens at the slice") {
        const std::string page =
            run("--format html --heads 2 --only 'weights[1,-1],weights[0],context'").out;
        CHECK(page.find("\"opened_at\":[1,5,0]") != std::string::npos);
        CHECK(page.find("\"opened_at\":[0,0,0]") == std::string::npos);
        const std::string name = "{\"name\":\"weights\"";
        CHECK(page.find(name) != std::string::npos);
        CHECK(page.find(name) == page.rfind(name));
    }

    TEST_CASE("cells of a notebook's page name the command that derives them") {
        const std::string page = run("notebook 003 --format html").out;
        for (const std::string cell : {"weights", "head_scores"}) {
            std::string flags = run("notebook 003 --as-flags " + cell).out;
            flags = flags.substr(0, flags.find('\n')) + " --format html\"";
            CHECK_MESSAGE(page.find("\"derived_by\":\"" + flags) != std::string::npos, flags);
        }
    }

    TEST_CASE("statistics of heads are an archive of (layer, head), and a page in colour") {
        const program::Folder folder;
        const std::string text = "heads --text 'Once upon a time, there was' ";
        for (const auto& [flags, names] :
             {std::pair<std::string, std::vector<std::string>>{text, {"entropy", "previous"}},
              {text + "--effect ", {"without"}},
              {"heads --repeat 6 ", {"induction", "duplicate"}}}) {
            INFO(flags);
            const std::string file = folder / "heads.npz";
            REQUIRE(run(flags + "-o " + file).exit_code == 0);
            const auto json = nlohmann::json::parse(run(flags + "--json").out);
            for (const std::string& name : names) {
                const attn::Tensor numbers = attn::read_tensor(file + ":" + name);
                REQUIRE(numbers.shape() == attn::Shape{5, 8});
                for (const auto& head : json.at("heads")) {
                    const std::size_t at = head.at("layer").get<std::size_t>() * 8 +
                                           head.at("head").get<std::size_t>();
                    CHECK(numbers.at(at) == head.at(name).get<double>());
                }
            }
            const std::string page = run(flags + "--format html").out;
            CHECK(has(page, "layer 4"));
            CHECK(has(page, "</html>"));
        }
    }

    TEST_CASE("a model's page contains the JSON of heads and walks") {
        const std::string text = " --text 'Once upon a time, there'";
        const std::string page = run("heads" + text + " --format html").out;
        const auto script = [&page](const std::string& id) {
            const std::size_t begin = page.find('>', page.find("id=\"" + id + "\"")) + 1;
            std::string json = page.substr(begin, page.find("</script>", begin) - begin);
            for (std::size_t at = json.find("\\u003c"); at != json.npos;
                 at = json.find("\\u003c")) {
                json.replace(at, 6, "<");
            }
            return json;
        };
        const bool same_heads = script("heads") == run("heads" + text + " --json").out;
        CHECK(same_heads);
        for (const std::string layer : {"0", "4"}) {
            nlohmann::json on_page = nlohmann::json::parse(script("layer-" + layer + "-walk"));
            nlohmann::json printed = nlohmann::json::parse(
                run("--model-file stories --format json --layer " + layer + text).out);
            for (nlohmann::json* record : {&on_page, &printed}) record->erase("command");
            const bool same_walk = on_page == printed;
            CHECK(same_walk);
        }
        CHECK(page.find("id=\"layer-5-walk\"") == std::string::npos);
        CHECK(page.find("data-command=\"attn-explain heads --text ") != std::string::npos);
        CHECK(run("heads" + text + " --format csv").exit_code == 2);
        CHECK(run("heads" + text + " --json --format html").exit_code == 2);
        // If a layer is too large, only its weights remain.
        std::string tokens = "1";
        for (int i = 0; i < 45; ++i) tokens += ",403";
        const std::string large = run("heads --ids " + tokens + " --format html").out;
        const auto finds = [&large](const char* what, std::size_t from) {
            return large.find(what, from) != std::string::npos;
        };
        const std::size_t last = large.find("id=\"layer-4-walk\"");
        CHECK(finds("{\"name\":\"projected_query\"", 0));
        CHECK_FALSE(finds("{\"name\":\"projected_query\"", last));
        CHECK(finds("{\"name\":\"weights\"", last));
    }

    TEST_CASE(
        "a page contains the walk as --format json writes it, its command, and no other walk") {
        const program::Folder folder;
        const std::string file = folder / "walk.html";
        REQUIRE(run(eight + "--output-projection -o " + file).exit_code == 0);
        const std::string page = program::read_file(file);
        CHECK(page.size() <= 150000);
        const std::size_t begin = page.find("id=\"walk\">") + 10;
        const std::string walk = page.substr(begin, page.find("</script>", begin) - begin);
        nlohmann::json on_page = nlohmann::json::parse(walk);
        nlohmann::json printed =
            nlohmann::json::parse(run(eight + "--output-projection --json").out);
        for (nlohmann::json* record : {&on_page, &printed}) {
            CHECK(record->contains("command"));
            record->erase("command");
        }
        CHECK(on_page == printed);
        CHECK(page.find("<title>attn-explain --text &#39;the cat sat") != std::string::npos);
        CHECK(page.find("http://www.w3.org/2000/svg") != std::string::npos);
        static const std::regex foreign("(src|href)=\"?(https?:|//)");
        CHECK_FALSE(std::regex_search(page, foreign));
    }

    TEST_CASE("figures of the README") {
        golden::check("weights", run(eight + "--variant loop --only weights --format svg").out,
                      ".svg");
        golden::check("arcs",
                      run(eight + "--variant loop --only weights --format svg --figure arcs").out,
                      ".svg");
        golden::check("flow", run(eight + "--format svg --figure flow").out, ".svg");
    }
}
