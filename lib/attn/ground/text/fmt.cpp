// The compiled part of the library fmt, once for all files that format text: Debian has it only as
// a shared library, but the program is linked statically. Compiling it in every file would cost a
// second each.
#include <fmt/format-inl.h>

template auto fmt::detail::dragonbox::to_decimal(float) noexcept
    -> fmt::detail::dragonbox::decimal_fp<float>;
template auto fmt::detail::dragonbox::to_decimal(double) noexcept
    -> fmt::detail::dragonbox::decimal_fp<double>;
template fmt::detail::locale_ref::locale_ref(const std::locale&);
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template auto fmt::detail::thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl(locale_ref) -> char;
template void fmt::detail::buffer<char>::append(const char*, const char*);
template void fmt::detail::vformat_to(buffer<char>&, fmt::string_view,
                                      fmt::basic_format_args<fmt::buffer_context<char>>,
                                      locale_ref);
