#pragma once
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

/// Reading the reference vectors, whose encoding data/reference/README.md describes.
namespace vectors {

using Json = nlohmann::json;

/// The folder of the vector files: ATTN_VECTORS if it is set, else the repository's own.
inline std::filesystem::path folder() {
    const char* chosen = std::getenv("ATTN_VECTORS");
    if (chosen != nullptr && *chosen != '\0') return chosen;
    return std::filesystem::path(ATTN_SOURCE_DIR) / "data" / "reference";
}

/// A whole vector file. A missing file, or one without cases, fails the test.
inline Json read(const std::string& name) {
    const std::filesystem::path path = folder() / name;
    std::ifstream file(path);
    REQUIRE_MESSAGE(file.is_open(), "cannot open " << path.string());
    Json content = Json::parse(file);
    REQUIRE_MESSAGE(!content.at("cases").empty(), path.string() << " has no cases");
    return content;
}

/// The CRC-32 of zlib, as eight hex digits.
inline std::string crc32(std::span<const std::byte> bytes) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
    }
    crc = ~crc;
    std::string text;
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[crc >> shift & 0xF];
    return text;
}

/// One element: a number, or the text of one that JSON cannot represent.
template <class T>
T number(const Json& value) {
    if constexpr (std::is_floating_point_v<T>) {
        if (value.is_string()) {
            const std::string text = value.get<std::string>();
            if (text == "nan") return std::numeric_limits<T>::quiet_NaN();
            if (text == "inf") return std::numeric_limits<T>::infinity();
            REQUIRE(text == "-inf");
            return -std::numeric_limits<T>::infinity();
        }
        return static_cast<T>(value.get<double>());
    } else {
        return value.get<T>();
    }
}

template <class T>
constexpr std::string_view dtype_of() {
    if constexpr (std::is_same_v<T, float>) return "float32";
    if constexpr (std::is_same_v<T, double>) return "float64";
    if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
}

/// The bits of an element: they distinguish -0 from 0, and a nan equals itself.
template <class T>
auto bits(T value) {
    if constexpr (sizeof(T) == 4) {
        return std::bit_cast<std::uint32_t>(value);
    } else {
        return std::bit_cast<std::uint64_t>(value);
    }
}

/// Checks `drawn`, from its element `start` on, against a list of elements, bit for bit.
template <class T>
void check_elements(const Json& expected, std::span<const T> drawn, std::size_t start) {
    REQUIRE(start + expected.size() <= drawn.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const T want = number<T>(expected[i]);
        const T got = drawn[start + i];
        CHECK_MESSAGE(bits(got) == bits(want),
                      "element " << start + i << " is " << got << ", expected " << want);
    }
}

/// Checks the type, the size and the elements of an array record: all of them, or the first and
/// last.
template <class T>
void check_listed(const Json& record, std::span<const T> drawn) {
    CHECK(record.at("dtype").get<std::string>() == dtype_of<T>());
    std::size_t size = 1;
    for (const Json& extent : record.at("shape")) size *= extent.get<std::size_t>();
    REQUIRE(size == drawn.size());
    if (record.contains("values")) {
        REQUIRE(record["values"].size() == size);
        check_elements(record["values"], drawn, 0);
    } else {
        check_elements(record.at("first"), drawn, 0);
        check_elements(record.at("last"), drawn, size - record["last"].size());
    }
}

/// Checks a whole array record: the elements it lists, and the CRC-32 of all elements.
template <class T>
void check_record(const Json& record, std::span<const T> drawn) {
    check_listed(record, drawn);
    CHECK(record.at("crc32").get<std::string>() == crc32(std::as_bytes(drawn)));
}

}  // namespace vectors
