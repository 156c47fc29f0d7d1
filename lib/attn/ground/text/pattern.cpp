#include "attn/ground/text/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// Limit of match attempts from one place, a fraction of a second: a pattern may need exponential
/// time.
constexpr std::uint32_t most_tries = 1'000'000;
constexpr std::uint32_t most_kilobytes = 64 * 1024;

PCRE2_SPTR bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string reason_of(int code) {
    std::array<PCRE2_UCHAR, 200> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

}  // namespace

Pattern::Pattern(std::string_view text, const std::string& label)
    : shown_((label.empty() ? "" : label + ": ") + "the pattern '" + std::string(text) + "'") {
    int code = 0;
    std::size_t place = 0;
    pcre2_code* const outcome =
        pcre2_compile(bytes_of(text), text.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                      &code, &place, nullptr);
    if (outcome == nullptr) {
        throw InputError(shown_ + " cannot be parsed from '" +
                         std::string(text.substr(std::min(place, text.size()))) + "' on, " +
                         reason_of(code) + ": write another one");
    }
    compiled_ = std::shared_ptr<pcre2_code>(outcome, &pcre2_code_free);
}

std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view text) const {
    const auto* code = static_cast<const pcre2_code*>(compiled_.get());
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> found(
        pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
    const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits(
        pcre2_match_context_create(nullptr), &pcre2_match_context_free);
    pcre2_set_match_limit(limits.get(), most_tries);
    pcre2_set_heap_limit(limits.get(), most_kilobytes);

    std::vector<std::pair<std::size_t, std::size_t>> places;
    std::uint32_t checked = 0;  // set once the text was checked as UTF-8
    for (std::size_t from = 0; from <= text.size();) {
        // Empty matches are not allowed: try alternatives, and later positions.
        const int result = pcre2_match(code, bytes_of(text), text.size(), from,
                                       PCRE2_NOTEMPTY | checked, found.get(), limits.get());
        if (result == PCRE2_ERROR_NOMATCH) break;
        if (result < 0) {
            const bool too_long =
                result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_HEAPLIMIT;
            throw InputError(shown_ + (too_long ? " takes too long: write a simpler one"
                                                : ": " + reason_of(result)));
        }
        checked = PCRE2_NO_UTF_CHECK;
        const std::size_t* ends = pcre2_get_ovector_pointer(found.get());
        // \K may move the beginning past the end.
        if (ends[0] < ends[1]) places.emplace_back(ends[0], ends[1]);
        from = std::max(ends[1], from + 1);
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80)
            ++from;
    }
    return places;
}

}  // namespace attn
