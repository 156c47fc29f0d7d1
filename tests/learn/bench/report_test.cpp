// Reports on made-up measurements. The table and the plot are stored as text in tests/golden. To
// renew them, run
//     ATTN_COLLECT_GOLDENS=1 build/dev/tests/attn_tests -ts='bench: report'
#include "attn/learn/bench/bench.hpp"

#include <clocale>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using attn::BenchSeries;
using attn::InstructionSet;
using attn::Variant;

namespace {

constexpr BenchSeries loop{Variant::loop, InstructionSet::automatic, 1};
constexpr BenchSeries vectorized{Variant::vectorized, InstructionSet::automatic, 1};
constexpr BenchSeries fused{Variant::fused, InstructionSet::avx2, 2};

attn::BenchRow timed(std::size_t length, const BenchSeries& series, double seconds) {
    attn::BenchRow row;
    row.shape = {8, length, 64};
    row.series = series;
    row.seconds = seconds;
    row.gflops = attn::useful_operations(row.shape, false) / seconds * 1e-9;
    row.peak_part = row.gflops / 250;
    row.used_bytes = static_cast<double>(length * length);
    if (series != loop) row.max_difference = 1.5e-7;
    row.tolerance = 3e-4;
    return row;
}

/// Three lengths; loop grows as T^2 and is left out at the longest.
attn::BenchReport made_up_report() {
    attn::BenchReport report;
    report.machine = {"Abacus & Sons \"9\" <fast>", 2, {"sse2", "avx2"}, "Haswell", 1e9};
    report.rounds = 5;
    report.peaks = {{InstructionSet::avx2, 1, 125}, {InstructionSet::avx2, 2, 250}};
    for (const std::size_t length : {64, 128, 256}) {
        const auto t = static_cast<double>(length) / 64;
        report.rows.push_back(timed(length, loop, 2e-3 * t * t));
        report.rows.push_back(timed(length, vectorized, 2e-4 * t * t));
        report.rows.push_back(timed(length, fused, 1.9e-4 * t));
    }
    report.rows[6].left_out = "would take about 32 s: pass --variant loop to time it";
    return report;
}

void check_golden(const std::string& name, const std::string& text) {
    const std::string path = ATTN_SOURCE_DIR "/tests/golden/" + name;
    if (std::getenv("ATTN_COLLECT_GOLDENS") != nullptr) {
        std::ofstream(path, std::ios::binary) << text;
    }
    CHECK(text == program::read_file(path));
}

/// Counts the elements of an XML text that is well-formed: tags closed in order, attributes in
/// quotes, no bare ampersand. Fails otherwise.
std::size_t count_elements(const std::string& xml) {
    std::vector<std::string> open;
    std::size_t elements = 0;
    for (std::size_t i = 0; i < xml.size(); ++i) {
        if (xml[i] == '&') {
            const std::string entity = xml.substr(i, xml.find(';', i) - i + 1);
            const bool known =
                entity == "&amp;" || entity == "&lt;" || entity == "&gt;" || entity == "&quot;";
            REQUIRE_MESSAGE(known, entity);
        }
        if (xml[i] != '<') continue;
        const std::size_t end = xml.find('>', i);
        REQUIRE(end != std::string::npos);
        const std::string tag = xml.substr(i + 1, end - i - 1);
        REQUIRE(tag.find('<') == std::string::npos);
        REQUIRE(std::count(tag.begin(), tag.end(), '"') % 2 == 0);
        i = end;
        if (tag.front() == '/') {
            REQUIRE_FALSE(open.empty());
            REQUIRE(open.back() == tag.substr(1));
            open.pop_back();
        } else {
            ++elements;
            if (tag.back() != '/') open.push_back(tag.substr(0, tag.find(' ')));
        }
    }
    REQUIRE(open.empty());
    return elements;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) {
        ++count;
    }
    return count;
}

}  // namespace

TEST_SUITE("bench: report") {
    TEST_CASE("the table is printed as expected") {
        check_golden("bench.txt", attn::bench_text(made_up_report()));
    }
    TEST_CASE("the plot is drawn as expected") {
        check_golden("bench.svg", attn::bench_svg(made_up_report()));
    }

    TEST_CASE("the plot is well-formed, with one line and one label for each series") {
        const std::string svg = attn::bench_svg(made_up_report());
        CHECK(count_elements(svg) > 20);
        CHECK(count_of(svg, "<polyline") == 3);
        CHECK(count_of(svg, ">loop: T^2.00<") == 1);
        CHECK(count_of(svg, ">fused avx2 x2: T^1.00<") == 1);
        CHECK(count_of(svg, "Abacus &amp; Sons &quot;9&quot; &lt;fast&gt;") == 1);
    }
    TEST_CASE("labels of lines that end at the same place do not overlap, nor leave the plot") {
        attn::BenchReport report = made_up_report();
        for (attn::BenchRow& row : report.rows) row.seconds = 1e-3;
        const std::string svg = attn::bench_svg(report);
        std::vector<double> heights;
        const std::string label = "x=\"556\" y=\"";
        for (std::size_t i = svg.find(label); i != std::string::npos; i = svg.find(label, i + 1)) {
            heights.push_back(std::stod(svg.substr(i + label.size())));
        }
        REQUIRE(heights.size() == 3);
        std::sort(heights.begin(), heights.end());
        for (std::size_t i = 1; i < heights.size(); ++i) {
            CHECK(heights[i] - heights[i - 1] >= 13);
        }
        CHECK(heights.back() <= 405);
    }
    TEST_CASE("a plot of one point, or of nothing, is valid") {
        attn::BenchReport report = made_up_report();
        report.rows.resize(1);
        CHECK(count_elements(attn::bench_svg(report)) > 5);
        const std::string one = attn::bench_svg(report);
        CHECK(one.find("nan", one.find("</style>")) == std::string::npos);
        report.rows.clear();
        CHECK(attn::bench_svg(report).find(">nothing was timed<") != std::string::npos);
        count_elements(attn::bench_svg(report));
    }
    TEST_CASE("numbers do not depend on the locale") {
        const std::string before = attn::bench_svg(made_up_report());
        const std::string saved = std::setlocale(LC_ALL, nullptr);
        for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
            if (std::setlocale(LC_ALL, name) != nullptr) break;
        }
        CHECK(attn::bench_svg(made_up_report()) == before);
        CHECK(nlohmann::json::parse(attn::bench_json(made_up_report())).at("growth").size() == 3);
        std::setlocale(LC_ALL, saved.c_str());
    }
    TEST_CASE("JSON has the contents of each row of the table") {
        const auto json = nlohmann::json::parse(attn::bench_json(made_up_report()));
        CHECK(json.at("machine").at("cores") == 2);
        CHECK(json.at("mask") == "none");
        CHECK(json.at("agree") == true);
        CHECK(json.at("disagreement").is_null());
        const auto& rows = json.at("results");
        REQUIRE(rows.size() == 9);
        CHECK(rows[0].at("variant") == "loop");
        CHECK(rows[0].at("architecture").is_null());
        CHECK(rows[0].at("max_difference").is_null());
        CHECK(rows[2].at("architecture") == "avx2");
        CHECK(rows[2].at("threads") == 2);
        CHECK(rows[2].at("shape") == nlohmann::json({8, 64, 64}));
        CHECK(rows[2].at("seconds") == 1.9e-4);
        CHECK(rows[6].at("seconds").is_null());
        CHECK(rows[6].at("skip_reason") == "would take about 32 s: pass --variant loop to time it");
    }
    TEST_CASE("two variants that disagree are reported with place, values and tolerance") {
        attn::BenchReport report = made_up_report();
        report.rows.clear();
        const double nan = std::numeric_limits<double>::quiet_NaN();
        report.dispute = {
            {2, 3, 4}, fused, loop, {17, nan, 0.25, std::numeric_limits<double>::infinity()}, 1e-5};
        const std::string printed =
            "fused avx2 x2 and loop disagree at (2,3,4): context[1,1,1] is nan and 0.25, inf "
            "apart, where rounding explains 1.0e-05";
        CHECK(attn::bench_text(report).find("\n" + printed + "\n") != std::string::npos);
        const auto json = nlohmann::json::parse(attn::bench_json(report));
        CHECK(json.at("agree") == false);
        CHECK(json.at("disagreement").at("index") == 17);
        CHECK(json.at("disagreement").at("value") == "nan");
        CHECK(json.at("disagreement").at("max_difference") == "inf");
        CHECK(json.at("disagreement").at("reference").at("variant") == "loop");
    }
}
