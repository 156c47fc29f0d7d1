// A walk as a workbook: its parts, its formulas, what a spreadsheet cannot express, and a filled
// one that is read back. tests/check_workbook.py computes the formulas in two spreadsheet programs.
#include <nlohmann/json.hpp>

#include "attn/files/io/output_files.hpp"
#include "attn/files/io/zip.hpp"
#include "tests/support/program.hpp"

using program::Folder;
using program::has;
using program::run;

namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;

Parts parts_of(const std::string& path) {
    const attn::InputFile file(path);
    Parts parts;
    for (const attn::ZipEntry& entry : attn::zip_directory(file)) {
        std::string text(entry.unpacked, '\0');
        attn::ZipEntryReader reader(file, entry, path);
        reader.read(text.data(), text.size());
        reader.finish();
        parts.emplace_back(entry.name, text);
    }
    return parts;
}

const std::string& part(const Parts& parts, const std::string& name) {
    const auto found = std::ranges::find(parts, name, &std::pair<std::string, std::string>::first);
    REQUIRE_MESSAGE(found != parts.end(), name);
    return found->second;
}

/// Writes a workbook, and returns the sheet of the walk.
std::string sheet_of(const std::string& flags, const std::string& path) {
    const auto result = run(flags + " -o '" + path + "'");
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    return part(parts_of(path), "xl/worksheets/sheet2.xml");
}

/// Fills the empty cells of the blank step, in their order, as a spreadsheet program saves them.
void fill(const std::string& path, const std::string& target, const std::vector<double>& answers) {
    Parts parts = parts_of(path);
    std::string& sheet = const_cast<std::string&>(part(parts, "xl/worksheets/sheet2.xml"));
    const std::string blank = " s=\"14\"/>";
    for (const double answer : answers) {
        const std::size_t at = sheet.find(blank);
        REQUIRE(at != sheet.npos);
        sheet.replace(at, blank.size(), " s=\"14\"><v>" + std::to_string(answer) + "</v></c>");
    }
    attn::OutputFile file(target);
    attn::ZipWriter archive(file);
    for (const auto& [name, text] : parts) archive.add(name, text, "");
    archive.finish();
    file.commit();
}

std::vector<double> numbers_of(const std::string& flags, const std::string& step) {
    const auto json = nlohmann::json::parse(run(flags + " --json").out);
    std::vector<double> numbers;
    for (const auto& each : json["steps"]) {
        if (each["name"] != step) continue;
        for (const auto& row : each["data"]) {
            for (const double number : row) numbers.push_back(std::round(number * 1e4) / 1e4);
        }
    }
    REQUIRE(!numbers.empty());
    return numbers;
}

}  // namespace

TEST_SUITE("app: workbook") {
    TEST_CASE(
        "a workbook has its parts, a sheet of the walk, an index with links, and named blocks") {
        const Folder folder;
        const std::string path = folder / "walk.XLSX";
        REQUIRE(run("-o '" + path + "'").exit_code == 0);
        const Parts parts = parts_of(path);
        for (const char* const name : {"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml",
                                       "xl/_rels/workbook.xml.rels", "xl/styles.xml"}) {
            CHECK(part(parts, name).starts_with("<?xml"));
        }
        const std::string& book = part(parts, "xl/workbook.xml");
        CHECK(has(book, "<sheet name=\"index\""));
        CHECK(has(book, "<sheet name=\"walk\""));
        CHECK(has(book, "<definedName name=\"weights\">walk!$B$"));
        const std::string& index = part(parts, "xl/worksheets/sheet1.xml");
        CHECK(has(index, "location=\"walk!A"));
        const std::string& sheet = part(parts, "xl/worksheets/sheet2.xml");
        CHECK(has(sheet, "state=\"frozen\""));
        CHECK(has(sheet, "type=\"colorScale\""));
        CHECK(has(sheet, ">dessert<"));
    }

    TEST_CASE("a cell is the formula of its rule: sums of products, softmax, a table by its ids") {
        const Folder folder;
        const std::string sheet = sheet_of("", folder / "a.xlsx");
        CHECK(has(sheet, "<f>INDEX($B$21:$B$27,B9+1)</f>"));
        CHECK(has(sheet, "<f>SUMPRODUCT(B34:E34,B46:E46)</f>"));
        CHECK(has(sheet, "/SQRT(4)</f>"));
        CHECK(has(sheet, "<f>EXP(B124-B136)</f>"));
        CHECK(has(sheet, "<f>EXP(B124-B136)/B160</f>"));
        CHECK(has(sheet, "<f>MMULT(B172:G172,B100:B105)</f>"));
        // A parameter is a number to edit.
        CHECK(has(sheet, "<c r=\"B46\" s=\"11\"><v>"));
    }

    TEST_CASE("masks, caches, heads and recurrences refer to the cells that they read") {
        const Folder folder;
        const std::string masked = sheet_of("--text 'a b c' --mask causal", folder / "a.xlsx");
        CHECK(has(masked, "<f>2&gt;1</f><v>1</v>"));
        CHECK(has(masked, ",-1E+300,"));
        // With two conditions LibreOffice writes no minus for the numbers that neither selects.
        const Parts book_parts = parts_of(folder / "a.xlsx");
        const std::string& styles = part(book_parts, "xl/styles.xml");
        CHECK(has(styles, "[&lt;-1E+290]&quot;-inf&quot;;[&lt;0]-0.0000;0.0000"));
        CHECK(!has(styles, "&quot;inf&quot;;0.0000"));
        const std::string state =
            sheet_of("--attention retention --form recurrent", folder / "b.xlsx");
        CHECK(!has(state, "NA()"));
        const auto parts = parts_of(folder / "b.xlsx");
        CHECK(has(part(parts, "xl/workbook.xml"), "<definedName name=\"state_h0_1\">"));
        sheet_of("--heads 2 --batch 2 --seq-len 3 --embed-dim 4", folder / "c.xlsx");
        const std::string book = part(parts_of(folder / "c.xlsx"), "xl/workbook.xml");
        CHECK(has(book, "<sheet name=\"sequence 1\""));
        CHECK(has(book, "<definedName name=\"weights_s1_h1\">&#39;sequence 1&#39;!$"));
    }

    TEST_CASE(
        "nan is an error value, and what no formula can express is a value, and is reported") {
        const Folder folder;
        const std::string path = folder / "a.xlsx";
        CHECK(has(sheet_of("--ids '0,0;1,2' --pad-id 0 --mask padding", path), "") == true);
        CHECK(has(part(parts_of(path), "xl/worksheets/sheet3.xml"), "<f>NA()</f><v>#N/A</v>"));
        const auto result =
            run("--rule 'scaled_scores[q,k] = scores[q,k] + (argmax j: scores[q,j] * 2)' -o '" +
                path + "'");
        CHECK(result.exit_code == 0);
        CHECK(has(result.err, "scaled_scores is written as values: a spreadsheet has no formula"));
    }

    TEST_CASE("words of outside are text, whatever they begin with") {
        const Folder folder;
        const std::string sheet =
            sheet_of("--tokens '=1+1,<b>,a&b' --seq-len 3 --embed-dim 4", folder / "a.xlsx");
        CHECK(has(sheet, "t=\"inlineStr\"><is><t xml:space=\"preserve\">=1+1</t>"));
        CHECK(has(sheet, "&lt;b&gt;"));
        CHECK(has(sheet, "a&amp;b"));
        CHECK(!has(sheet, "<f>=1"));
        CHECK(!has(sheet, "<f>1+1"));
        sheet_of("--tokens \"$(printf 'a\\033b,<img>,c')\" --seq-len 3 --embed-dim 4",
                 folder / "b.xlsx");
        for (const auto& [name, text] : parts_of(folder / "b.xlsx")) {
            CHECK_MESSAGE(!has(text, "\x1b"), name);
            CHECK_MESSAGE(!has(text, "<img"), name);
        }
    }

    TEST_CASE("a workbook that is too large is refused in one line, without a file") {
        const Folder folder;
        const auto result = run("--seq-len 600 --embed-dim 4 -o '" + (folder / "a.xlsx") + "'");
        CHECK(result.exit_code == 2);
        CHECK(has(result.err, "a workbook stays quick up to 200000"));
        CHECK(std::ranges::count(result.err, '\n') == 1);
        CHECK(!std::filesystem::exists(folder / "a.xlsx"));
        const auto blank = run("--blank wieghts -o '" + (folder / "a.xlsx") + "'");
        CHECK(blank.exit_code == 2);
        CHECK(has(blank.err, "'wieghts' is not a computed step of this walk"));
        const auto bare = run("notebook 001 -o '" + (folder / "a.xlsx") + "'");
        CHECK(bare.exit_code == 2);
        CHECK(has(bare.err, "writes formulas, and these numbers have no rules"));
        CHECK(!std::filesystem::exists(folder / "a.xlsx"));
    }

    TEST_CASE(
        "--blank leaves cells empty, checks them against hidden ones, and waits with the rest") {
        const Folder folder;
        const std::string sheet = sheet_of("--text 'a b c' --blank weights", folder / "a.xlsx");
        CHECK(has(sheet, " s=\"14\"/>"));
        CHECK(has(sheet, "hidden=\"1\""));
        CHECK(has(sheet, "<formula>AND(ISNUMBER("));
        CHECK(has(sheet, "<f>IF(COUNT(weights)=9,MMULT("));
        sheet_of("--text 'a b c' --text 'd e f' --blank weights", folder / "c.xlsx");
        const Parts batch = parts_of(folder / "c.xlsx");
        CHECK(has(part(batch, "xl/worksheets/sheet3.xml"), "<f>IF(COUNT(weights_s0)=9,MMULT("));
        CHECK(has(part(batch, "xl/worksheets/sheet4.xml"), "<f>IF(COUNT(weights_s1)=9,MMULT("));
        // A scale would cover the green of right answers.
        const auto scales_of = [](const std::string& text) {
            std::size_t count = 0;
            for (std::size_t at = 0; (at = text.find("\"colorScale\"", at)) != text.npos; ++at)
                ++count;
            return count;
        };
        CHECK(scales_of(sheet) + 1 == scales_of(sheet_of("--text 'a b c'", folder / "b.xlsx")));
        CHECK(has(sheet, "ROUND("));
        CHECK(has(sheet, "</f><v></v>"));
    }

    TEST_CASE("a filled workbook is marked: right, with a mistake, with one wrong cell") {
        const Folder folder;
        const std::string walk = "--text 'a b c'", path = folder / "a.xlsx",
                          mine = folder / "b.xlsx";
        sheet_of(walk + " --blank weights", path);
        fill(path, mine, numbers_of(walk, "weights"));
        const auto right = run("diagnose '" + mine + "'");
        CHECK_MESSAGE(right.exit_code == 0, right.out);
        const std::string drawn = "--random randn --seq-len 3 --embed-dim 4";
        sheet_of(drawn + " --blank weights", folder / "drawn.xlsx");
        fill(folder / "drawn.xlsx", mine, numbers_of(drawn, "weights"));
        const auto of_drawn = run("diagnose '" + mine + "'");
        CHECK_MESSAGE(!has(of_drawn.out, "should be"), of_drawn.out);
        fill(path, mine, numbers_of(walk + " --bug scale-missing", "weights"));
        const auto mistaken = run("diagnose '" + mine + "'");
        CHECK(mistaken.exit_code == 1);
        CHECK_MESSAGE(has(mistaken.out, "scale-missing"), mistaken.out);
        std::vector<double> slipped = numbers_of(walk, "weights");
        const std::string should_be = std::to_string(slipped[5]).substr(0, 6);
        slipped[5] = 0.9;
        fill(path, mine, slipped);
        const auto wrong = run("diagnose '" + mine + "'");
        CHECK(wrong.exit_code != 0);
        CHECK_MESSAGE(has(wrong.out, "weights of \"b\", column 3: 0.9000 should be " + should_be),
                      wrong.out);
        CHECK(has(wrong.out, "weights[q,k] = "));
        // Under a causal mask nothing would depend on this score: the workbook has none.
        sheet_of(walk + " --blank scores", path);
        std::vector<double> scores = numbers_of(walk, "scores");
        scores[5] += 0.2;
        fill(path, mine, scores);
        const auto above = run("diagnose '" + mine + "'");
        CHECK_MESSAGE(has(above.out, "scores of \"b\", column 3: "), above.out);
        sheet_of(walk + " --mask causal --blank weights", path);
        std::vector<double> seen = numbers_of(walk + " --mask causal", "weights");
        seen[3] += 0.2;
        fill(path, mine, seen);
        CHECK(has(run("diagnose '" + mine + "'").out, "weights of \"b\", column 1: "));
    }

    TEST_CASE("a workbook with gradients is marked, and one whose files are gone") {
        const Folder folder;
        const std::string path = folder / "a.xlsx", mine = folder / "b.xlsx";
        sheet_of("--text 'a b c' --backward", path);
        const auto back = run("diagnose '" + path + "'");
        CHECK_MESSAGE(back.exit_code == 0, back.out << back.err);
        const std::string file = folder / "p.npz";
        REQUIRE(run("--seq-len 3 --embed-dim 4 -o '" + file + "'").exit_code == 0);
        const std::string walk = "--weights '" + file + "' --x '" + file + ":x' --tokens a,b,c";
        sheet_of(walk + " --blank weights", path);
        fill(path, mine, numbers_of(walk, "weights"));
        std::filesystem::remove(file);
        const auto right = run("diagnose '" + mine + "'");
        CHECK_MESSAGE(right.exit_code == 0, right.out << right.err);
    }

    TEST_CASE("another workbook is refused, and so is text among the numbers") {
        const Folder folder;
        const std::string path = folder / "a.xlsx";
        sheet_of("--text 'a b c'", path);
        Parts parts = parts_of(path);
        attn::OutputFile file(folder / "b.xlsx");
        attn::ZipWriter archive(file);
        for (auto& [name, text] : parts) {
            const std::size_t at = text.find("attn_explain");
            if (name == "xl/workbook.xml") text.replace(at, 12, "another_name");
            archive.add(name, text, "");
        }
        archive.finish();
        file.commit();
        const auto seen = run("diagnose '" + (folder / "b.xlsx") + "'");
        CHECK(seen.exit_code == 2);
        CHECK(has(seen.err, "was not written by attn-explain"));
    }
}
