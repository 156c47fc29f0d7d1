#include "attn/show/render/color_scale.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

using namespace attn;

namespace {

struct Lab {
    double lightness, a, b;
};

/// Returns the linear light of a colour as an eye without one kind of cone sees it.
/// Source  G. Machado, M. Oliveira, L. Fernandes, "A physiologically-based model for simulation of
///         color vision deficiency", 2009, table 1.
std::array<double, 3> seen(Color color, const std::array<double, 9>& eye) {
    const auto linear = [](std::uint8_t value) {
        const double encoded = value / 255.0;
        return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
    };
    const std::array<double, 3> light{linear(color.red), linear(color.green), linear(color.blue)};
    std::array<double, 3> left{};
    for (std::size_t i = 0; i < 9; ++i) left[i / 3] += eye[i] * light[i % 3];
    for (double& each : left) each = std::clamp(each, 0.0, 1.0);
    return left;
}
constexpr std::array<double, 9> whole{1, 0, 0, 0, 1, 0, 0, 0, 1};
constexpr std::array<double, 9> without_green{0.367322, 0.860646, -0.227968, 0.280085, 0.672501,
                                              0.047413, -0.01182, 0.04294,   0.968881};
constexpr std::array<double, 9> without_red{0.152286, 1.052583,  -0.204868, 0.114503, 0.786281,
                                            0.099216, -0.003882, -0.048116, 1.051998};

/// A colour in Oklab: lightness, a and b.  Source  B. Ottosson, Oklab, the inverse.
Lab lab_of(Color color, const std::array<double, 9>& eye = whole) {
    const auto [r, g, b] = seen(color, eye);
    const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

std::vector<double> lightness_of(ScaleKind kind, Page page, double from, double to) {
    std::vector<double> all;
    for (int i = 0; i <= 10; ++i) {
        all.push_back(lab_of(scale_color(from + (to - from) * i / 10, kind, page)).lightness);
    }
    return all;
}

/// True if the steps all have the same sign and similar sizes.
void check_even(const std::vector<double>& lightness) {
    const double mean = (lightness.back() - lightness.front()) / 10;
    CHECK(std::abs(mean) > 0.03);
    for (std::size_t i = 1; i < lightness.size(); ++i) {
        const double step = lightness[i] - lightness[i - 1];
        CHECK_MESSAGE(std::abs(step - mean) <= 0.25 * std::abs(mean), i << ": " << step);
    }
}

/// Returns the contrast of a colour with a background.  Source  WCAG 2.1.
double contrast(Color color, Color paper) {
    const auto luminance = [](Color one) {
        const auto [r, g, b] = seen(one, whole);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const double ratio = luminance(color) / luminance(paper);
    return std::max(ratio, 1 / ratio);
}

}  // namespace

TEST_SUITE("render: color scale") {
    TEST_CASE("query, key, value and weights can be read, and told apart by every eye") {
        constexpr std::array roles{ColorRole::query, ColorRole::key, ColorRole::value,
                                   ColorRole::weight};
        for (const Page page : {Page::light, Page::dark}) {
            const Color paper = page == Page::dark ? Color{0x14, 0x16, 0x1a} : Color{255, 255, 255};
            for (const ColorRole role : roles) {
                CHECK(contrast(role_color(role, page), paper) >= 4.5);
                CHECK(contrast(terminal_role_color(role), Color{255, 255, 255}) >= 3);
                CHECK(contrast(terminal_role_color(role), Color{0, 0, 0}) >= 3);
                for (const ColorRole other : roles) {
                    for (const auto& eye : {whole, without_green, without_red}) {
                        const Lab one = lab_of(role_color(role, page), eye);
                        const Lab two = lab_of(role_color(other, page), eye);
                        const double distance =
                            std::hypot(one.lightness - two.lightness, one.a - two.a, one.b - two.b);
                        CHECK_MESSAGE((role == other || distance > 0.1), distance);
                    }
                }
            }
        }
    }

    TEST_CASE("a tensor has the colour of what it is") {
        CHECK(role_of("rotated_query") == ColorRole::query);
        CHECK(role_of("w_key") == ColorRole::key);
        CHECK(role_of("d_value") == ColorRole::value);
        CHECK(role_of("weights") == ColorRole::weight);
        CHECK(role_of("scores") == ColorRole::none);
    }

    TEST_CASE("equal steps of the value look like equal steps of lightness") {
        for (const Page page : {Page::light, Page::dark}) {
            check_even(lightness_of(ScaleKind::from_zero, page, 0, 1));
            check_even(lightness_of(ScaleKind::around_zero, page, 0, 1));
            check_even(lightness_of(ScaleKind::around_zero, page, 0, -1));
        }
    }

    TEST_CASE("large values are dark on a light page, and light on a dark one") {
        const auto lightness = [](double share, Page page) {
            return lab_of(scale_color(share, ScaleKind::from_zero, page)).lightness;
        };
        CHECK(lightness(1, Page::light) < lightness(0, Page::light) - 0.5);
        CHECK(lightness(1, Page::dark) > lightness(0, Page::dark) + 0.5);
    }

    TEST_CASE(
        "values beyond the ends get the colours of the ends, and every class has its colour") {
        CHECK(hex(scale_color(7, ScaleKind::from_zero, Page::dark)) ==
              hex(scale_color(1, ScaleKind::from_zero, Page::dark)));
        CHECK(scale_class(-3, ScaleKind::around_zero) == "d0");
        CHECK(scale_class(0, ScaleKind::around_zero) == "d20");
        CHECK(scale_class(1, ScaleKind::from_zero) == "s40");
        CHECK(scale_class(-INFINITY, ScaleKind::from_zero) == "ninf");
        CHECK(scale_class(INFINITY, ScaleKind::around_zero) == "inf");
        CHECK(scale_class(NAN, ScaleKind::around_zero) == "nan");
        const std::string style = scale_style(Page::light, "fill", " text", "fill");
        for (const std::string name : {"s0", "s40", "d0", "d40", "nan", "inf", "ninf"}) {
            CHECK_MESSAGE(style.find("." + name + "{fill:#") != std::string::npos, name);
            const bool alone = style.find("." + name + " text{fill:#") != std::string::npos;
            const bool listed = style.find("." + name + " text,") != std::string::npos;
            CHECK_MESSAGE((alone || listed), name);
        }
    }
}
