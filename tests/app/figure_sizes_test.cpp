// The layout of figures: for a slide, for a column of paper, and as tiles over an image.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/golden.hpp"

using program::has;
using program::run;

namespace {

/// Returns the first numbers that a pattern captures at each match.
std::vector<std::vector<double>> numbers_in(const std::string& svg, const std::string& pattern) {
    const std::regex form(pattern);
    std::vector<std::vector<double>> found;
    for (std::sregex_iterator it(svg.begin(), svg.end(), form), end; it != end; ++it) {
        std::vector<double>& row = found.emplace_back();
        for (std::size_t group = 1; group < it->size(); ++group) {
            row.push_back(std::stod((*it)[group]));
        }
    }
    return found;
}

struct Drawn {
    std::string svg;
    double width, height;  ///< in units of the drawing
    double scale;          ///< of a unit, in pixels
};

Drawn drawn(const std::string& flags) {
    const program::Result result = run(flags + " --format svg");
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    const auto size = numbers_in(
        result.out, "^<svg [^>]* width=\"([0-9.]+)\"[^>]* viewBox=\"0 0 ([0-9.]+) ([0-9.]+)\"");
    REQUIRE(size.size() == 1);
    return {result.out, size[0][1], size[0][2], size[0][0] / size[0][1]};
}

std::string words(std::size_t count) {
    std::string text = "--text '";
    for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? " w" : "w") + std::to_string(i);
    return text + "' ";
}

const std::string six = "--text 'life is short eat dessert first' ";

/// Returns the centre of a box of a flow.
double middle_of(const std::string& svg, const std::string& box) {
    const auto found = numbers_in(
        svg, "<text x=\"([0-9.]+)\" y=\"[0-9.]+\"[^>]* text-anchor=\"middle\">" + box + "</text>");
    REQUIRE_MESSAGE(found.size() == 1, box);
    return found[0][0];
}

/// Writes a picture of one pixel, as png.
void write_picture(const std::string& path) {
    static constexpr unsigned char bytes[] = {
        0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48,
        0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00,
        0x00, 0x1F, 0x15, 0xC4, 0x89, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x44, 0x41, 0x54, 0x78,
        0x9C, 0x63, 0xF8, 0xCF, 0xC0, 0xF0, 0x1F, 0x00, 0x05, 0x00, 0x01, 0xFF, 0x56, 0xC7,
        0x2F, 0x0D, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes), sizeof bytes);
}

}  // namespace

TEST_SUITE("app: figure sizes") {
    TEST_CASE("a flow is a column with formulas that fits a slide") {
        for (const std::string heads : {"1", "12"}) {
            const Drawn flow = drawn(
                six + "--embed-dim 48 --mask causal --output-projection --figure flow --heads " +
                heads);
            CHECK(flow.height <= 720);
            CHECK(flow.width <= 1280);
            CHECK(has(flow.svg, ">From ids to output</text>"));
            CHECK(has(flow.svg, "class=\"formula\">scaled_scores["));
            const double column = middle_of(flow.svg, "scores");
            for (const std::string box : {"scaled_scores", "masked_scores", "weights", "context"}) {
                CHECK_MESSAGE(std::abs(middle_of(flow.svg, box) - column) <= 2, box);
            }
            // The arrow from value runs straight down and bends once, to context.
            const double value = middle_of(flow.svg, "value");
            std::size_t bends = 0;
            for (const auto& ends :
                 numbers_in(flow.svg, "C([0-9.]+) [0-9.]+ ([0-9.]+) [0-9.]+ [0-9.]+ [0-9.]+")) {
                const bool is_of_value = std::abs(ends[0] - value) <= 3;
                bends += is_of_value && std::abs(ends[1] - ends[0]) > 3;
            }
            CHECK(bends == 1);
        }
        const std::string bare = drawn(six + "-q --figure flow").svg;
        CHECK_FALSE(has(bare, "class=\"formula\">"));
        CHECK_FALSE(has(bare, "class=\"title\""));
    }

    TEST_CASE("each row of weights has its own scale from 16 keys on, and the figure names it") {
        const std::string shaded = "--only weights --figure ";
        for (const std::string figure : {"matrix", "arcs"}) {
            CHECK(has(drawn(words(16) + shaded + figure).svg, ">largest of its row</text>"));
            CHECK_FALSE(has(drawn(words(15) + shaded + figure).svg, "largest of its row"));
            CHECK_FALSE(has(drawn(words(16) + shaded + figure + " --heatmap=fixed").svg,
                            "largest of its row"));
        }
        // The largest weight of each row is the darkest.
        const std::string svg = drawn(words(16) + "--only weights").svg;
        std::size_t darkest = 0;
        for (std::size_t at = svg.find("class=\"s40\" data-cell"); at != svg.npos;
             at = svg.find("class=\"s40\" data-cell", at + 1)) {
            ++darkest;
        }
        CHECK(darkest >= 16);
    }

    TEST_CASE("labels do not touch, and a title that does not fit is the name") {
        const Drawn many = drawn(words(64) + "--only weights");
        const auto slanted = numbers_in(many.svg, "rotate\\(-45 ([0-9.]+) [0-9.]+\\)");
        CHECK(slanted.size() >= 16);
        for (std::size_t i = 1; i < slanted.size(); ++i) {
            // Slanted lines of 11 px type are cos 45 times as far apart as their columns.
            CHECK((slanted[i][0] - slanted[i - 1][0]) * std::sqrt(0.5) >= 11);
        }
        CHECK(has(many.svg, ">weights: how much attention each query pays to each key</text>"));
        CHECK(has(drawn("--text 'a b c' --only weights").svg, "class=\"title\">weights</text>"));
    }

    TEST_CASE("in a column of 7 cm no type is smaller than 6 pt, and digits make way") {
        constexpr double seven_cm = 265, six_pt = 8;
        for (const std::string figure : {"matrix", "arcs"}) {
            for (const std::string& text : {six, words(64)}) {
                for (const std::string heads : {"1", "12"}) {
                    const Drawn narrow = drawn(
                        text + "--embed-dim 48 --only weights --mask causal --width 265 --heads " +
                        heads + " --figure " + figure);
                    CHECK_MESSAGE(narrow.scale * 11 >= six_pt - 0.05,
                                  figure << " of " << heads << " heads: " << narrow.width);
                    CHECK(narrow.scale * narrow.width == doctest::Approx(seven_cm));
                    CHECK_FALSE(std::regex_search(narrow.svg, std::regex(">0\\.[0-9]{4}</text>")));
                }
            }
        }
        const auto digits = [](const std::string& width) {
            return std::regex_search(drawn("--text 'a b c' --only weights" + width).svg,
                                     std::regex(">0\\.[0-9]{4}</text>"));
        };
        CHECK(digits(""));
        CHECK(digits(" --width 265"));
        CHECK_FALSE(digits(" --width 100"));
    }

    TEST_CASE("arcs have no empty paper") {
        for (const std::string& text : {six, words(64)}) {
            const Drawn arcs = drawn(text + "--only weights --mask causal --figure arcs");
            CHECK(arcs.height <= 1000);
            const auto lines = numbers_in(arcs.svg, "<text x=\"([0-9.]+)\" y=\"[0-9.]+\">");
            double right = 0;
            for (const auto& line : lines) right = std::max(right, line[0]);
            CHECK(arcs.width - right <= 110);
        }
    }

    TEST_CASE("a row of weights is tiles over a picture, as dark as they are small") {
        const program::Folder folder;
        const std::string picture = folder / "one.png";
        write_picture(picture);
        const std::string image = " --image " + picture;
        for (const auto& [keys, grid] :
             {std::pair<std::string, std::string>{"12", "3x4"}, {"13", "3x4"}}) {
            const std::string walk = "--seq-len " + keys + " --heads 2 --only 'weights[:,5]' ";
            const Drawn tiles = drawn(walk + "--grid " + grid + image);
            CHECK(has(tiles.svg, "href=\"data:image/png;base64,iVBORw0KGgo"));
            CHECK(has(tiles.svg, ">head 1, query 5"));
            CHECK(has(tiles.svg, ", class 0.") == (keys == "13"));
            const auto data =
                nlohmann::json::parse(run(walk + "--json").out).at("steps").at(0).at("data");
            const auto drawn_tiles = numbers_in(
                tiles.svg, "opacity=\"([0-9.]+)\"><title>key ([0-9]+) = ([-+e0-9.]+)</title>");
            REQUIRE(drawn_tiles.size() == 2 * 12);
            for (std::size_t i = 0; i < drawn_tiles.size(); ++i) {
                const std::vector<double> row = data.at(i / 12);
                const std::size_t key = i % 12 + row.size() - 12;
                CHECK(drawn_tiles[i][1] == key);
                CHECK(drawn_tiles[i][2] == row[key]);
                const double most = *std::ranges::max_element(row);
                CHECK(std::abs(drawn_tiles[i][0] - 0.8 * (1 - row[key] / most)) <= 0.006);
            }
        }
        for (const auto& [flags, remainder] :
             {std::pair<std::string, std::string>{
                  "--seq-len 6 --grid 3x4" + image,
                  "--grid 3x4 is 12 tiles, but a row of weights has 6 keys"},
              {"--seq-len 12 --grid 3x4 --only x" + image, "keep weights among the steps"},
              {"--seq-len 12 --grid 12" + image, "--grid 12 is not a size"},
              {"--seq-len 12 --grid 3x4 --image " + folder / "none.png", "none.png"},
              {"--seq-len 12 --grid 3x4 --image CMakeLists.txt", "neither a png nor a jpeg"}}) {
            for (const std::string format : {"svg", "html"}) {
                const std::string file = folder / ("out." + format);
                const program::Result refused = run(flags + " -o " + file);
                CHECK(refused.exit_code == 2);
                CHECK_MESSAGE(has(refused.err, remainder), refused.err);
                CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
                CHECK_FALSE(std::filesystem::exists(file));
            }
        }
    }
}
