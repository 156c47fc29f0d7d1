#pragma once
// Parts of C++20 that the standard library of clang 14 lacks and the core uses. Included before
// every file of the core, and not in the program's own build.
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <thread>

namespace std {

template <class T>
unique_ptr<T> make_unique_for_overwrite(size_t count) {
    return unique_ptr<T>(new remove_extent_t<T>[count]);
}

/// A core has one thread: the work runs in the constructor.
class jthread {
public:
    template <class Work, class... Arguments>
    explicit jthread(Work&& work, Arguments&&... arguments) {
        work(std::forward<Arguments>(arguments)...);
    }
};

template <class Number>
requires is_floating_point_v<Number> from_chars_result from_chars(
    const char* begin, const char* end, Number& value, chars_format = chars_format::general) {
    const string text(begin, end);
    char* rest = nullptr;
    const bool starts =
        begin != end && *begin != '+' && !isspace(static_cast<unsigned char>(*begin));
    errno = 0;
    const Number read = is_same_v<Number, float> ? strtof(text.c_str(), &rest)
                                                 : static_cast<Number>(strtod(text.c_str(), &rest));
    const char* const stop = begin + (rest - text.c_str());
    if (!starts || stop == begin) return {begin, errc::invalid_argument};
    if (errno == ERANGE) return {stop, errc::result_out_of_range};
    value = read;
    return {stop, errc{}};
}

template <class To, class From>
constexpr To bit_cast(const From& from) {
    return __builtin_bit_cast(To, from);
}

struct to_chars_text {
    char* ptr;
};
/// Writes the shortest text that reads back to the same bits.
to_chars_text to_chars(char* begin, char* end, double value, chars_format format);
to_chars_text to_chars(char* begin, char* end, float value, chars_format format);
inline to_chars_text to_chars(char* begin, char* end, double value, chars_format format,
                              int precision) {
    const bool is_fixed = format == chars_format::fixed;
    return {begin + snprintf(begin, static_cast<size_t>(end - begin), is_fixed ? "%.*f" : "%.*e",
                             precision, value)};
}

/// Writes the shorter of both forms, the one without an exponent if they are equally long.
template <class Number>
requires is_floating_point_v<Number> to_chars_text to_chars(char* begin, char*, Number value) {
    char fixed[512], scientific[64];
    const char* const a = to_chars(fixed, fixed + 512, value, chars_format::fixed).ptr;
    const char* const b =
        to_chars(scientific, scientific + 64, value, chars_format::scientific).ptr;
    const bool is_fixed = a - fixed <= b - scientific;
    return {is_fixed ? std::copy(static_cast<const char*>(fixed), a, begin)
                     : std::copy(static_cast<const char*>(scientific), b, begin)};
}

namespace ranges {

template <class Range>
concept is_range = requires(Range& range) {
    std::begin(range);
};

// Algorithms over a whole range, with a projection if the core uses one.
#define ATTN_OVER_RANGE(name)                                                              \
    template <class Range, class... More>                                                  \
    requires(!is_same_v<Range, void>) constexpr decltype(auto) name(Range&& range,         \
                                                                    More&&... more) {      \
        return std::name(std::begin(range), std::end(range), std::forward<More>(more)...); \
    }
ATTN_OVER_RANGE(copy)
ATTN_OVER_RANGE(move)
ATTN_OVER_RANGE(copy_if)
ATTN_OVER_RANGE(for_each)
ATTN_OVER_RANGE(replace)
ATTN_OVER_RANGE(reverse)
ATTN_OVER_RANGE(stable_partition)
#undef ATTN_OVER_RANGE

template <is_range Range, class Out, class Act, class Project = std::identity>
auto transform(Range&& range, Out out, Act act, Project project = {}) {
    for (auto&& each : range) *out++ = std::invoke(act, std::invoke(project, each));
    return out;
}
template <is_range Range, class Place>
void nth_element(Range&& range, Place place) {
    std::nth_element(std::begin(range), place, std::end(range));
}
template <is_range Range, class Other>
auto mismatch(const Range& range, const Other& other) {
    struct Both {
        decltype(std::begin(range)) in1;
        decltype(std::begin(other)) in2;
    };
    const auto [in1, in2] =
        std::mismatch(std::begin(range), std::end(range), std::begin(other), std::end(other));
    return Both{in1, in2};
}
template <is_range Range>
auto next_permutation(Range&& range) {
    struct Found {
        bool found;
    };
    return Found{std::next_permutation(std::begin(range), std::end(range))};
}

#define ATTN_OVER_PROJECTED(name)                                                                 \
    template <is_range Range, class Is, class Project = std::identity>                            \
    constexpr auto name(Range&& range, Is is, Project project = {}) {                             \
        return std::name(std::begin(range), std::end(range),                                      \
                         [&](auto&& one) { return std::invoke(is, std::invoke(project, one)); }); \
    }
ATTN_OVER_PROJECTED(any_of)
ATTN_OVER_PROJECTED(all_of)
ATTN_OVER_PROJECTED(none_of)
ATTN_OVER_PROJECTED(find_if)
ATTN_OVER_PROJECTED(count_if)
#undef ATTN_OVER_PROJECTED

template <class Range, class What>
void fill(Range&& range, const What& what) {
    std::fill(std::begin(range), std::end(range), what);
}

template <class Order, class Project>
constexpr auto by(Order order, Project project) {
    return [=](const auto& a, const auto& b) {
        return std::invoke(order, std::invoke(project, a), std::invoke(project, b));
    };
}

#define ATTN_IN_ORDER(name)                                                               \
    template <is_range Range, class Order = std::less<>, class Project = std::identity>   \
    constexpr auto name(Range&& range, Order order = {}, Project project = {}) {          \
        return std::name(std::begin(range), std::end(range), ranges::by(order, project)); \
    }
ATTN_IN_ORDER(is_sorted)
ATTN_IN_ORDER(sort)
ATTN_IN_ORDER(stable_sort)
ATTN_IN_ORDER(min_element)
ATTN_IN_ORDER(max_element)
ATTN_IN_ORDER(minmax_element)
#undef ATTN_IN_ORDER

template <class Iterator>
auto min_element(Iterator begin, Iterator end) {
    return std::min_element(begin, end);
}
template <class Iterator>
auto max_element(Iterator begin, Iterator end) {
    return std::max_element(begin, end);
}
template <class Iterator, class Is>
requires(!is_range<Iterator>) auto count_if(Iterator begin, Iterator end, Is is) {
    return std::count_if(begin, end, is);
}
template <class Range, class Order = std::less<>, class Project = std::identity>
auto min(Range&& range, Order order = {}, Project project = {}) {
    return *ranges::min_element(range, order, project);
}
template <class Range, class Order = std::less<>, class Project = std::identity>
auto max(Range&& range, Order order = {}, Project project = {}) {
    return *ranges::max_element(range, order, project);
}
template <class Range, class Order = std::less<>, class Project = std::identity>
auto minmax(Range&& range, Order order = {}, Project project = {}) {
    const auto [least, most] = ranges::minmax_element(range, order, project);
    return std::pair(*least, *most);
}

template <class Range, class What, class Project = std::identity>
auto find(Range&& range, const What& what, Project project = {}) {
    return ranges::find_if(range,
                           [&](const auto& one) { return std::invoke(project, one) == what; });
}
template <class Iterator, class What, class Project>
auto find(Iterator begin, Iterator end, const What& what, Project project) {
    return std::find_if(begin, end,
                        [&](const auto& one) { return std::invoke(project, one) == what; });
}
template <class Range, class What, class Order = std::less<>, class Project = std::identity>
auto lower_bound(Range&& range, const What& what, Order order = {}, Project project = {}) {
    return std::lower_bound(
        std::begin(range), std::end(range), what,
        [&](const auto& one, const What& than) { return order(std::invoke(project, one), than); });
}
template <class Range, class What, class Project = std::identity>
auto count(Range&& range, const What& what, Project project = {}) {
    return ranges::count_if(range,
                            [&](const auto& one) { return std::invoke(project, one) == what; });
}
template <class Range, class Other, class Same = std::equal_to<>>
bool equal(const Range& range, const Other& other, Same same = {}) {
    return std::equal(std::begin(range), std::end(range), std::begin(other), std::end(other), same);
}
template <class Range, class Other>
bool is_permutation(const Range& range, const Other& other) {
    return std::is_permutation(std::begin(range), std::end(range), std::begin(other),
                               std::end(other));
}

}  // namespace ranges

namespace views {

template <class Range>
struct Reversed {
    Range range;  ///< a reference, or a temporary that this owns
    auto begin() { return std::rbegin(range); }
    auto end() { return std::rend(range); }
};
template <class Range>
Reversed<Range> reverse(Range&& range) {
    return {std::forward<Range>(range)};
}

}  // namespace views
}  // namespace std

// Files cannot be exchanged here: callers rename them one after the other instead.
#define RENAME_EXCHANGE 2U
inline int renameat2(int, const char* from, int, const char* to, unsigned how) {
    errno = ENOSYS;
    return how == 0 ? std::rename(from, to) : -1;
}
