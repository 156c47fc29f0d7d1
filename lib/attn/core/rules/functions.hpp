#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attn {

/// What an expression gives: any number, a whole one, or a truth, which counts as 1 or 0.
enum class RuleType { number, whole, truth };

/// A function or an operator of rules: all that anybody asks about it.
struct RuleFunction {
    enum class Kind { called, sign, comparison, logic };

    const char* name;
    std::size_t arity;
    Kind kind;
    /// Its value by x, and by y: each a sum of terms that rules write in x, y and the value v;
    /// nothing where it does not change.
    std::vector<const char*> by_x, by_y;
    /// What Python calls it in torch and in numpy, or how it says it, with `{}` in the place of x;
    /// null where it has no function of its own.
    const char* torch;
    const char* numpy;
    double (*value)(double x, double y);
    void (*row32)(float* x, const float* y, std::size_t count);
    void (*row64)(double* x, const double* y, std::size_t count);

    /// Puts the values in the place of x.
    template <class T>
    void row(T* x, const T* y, std::size_t count) const {
        if constexpr (std::is_same_v<T, float>) {
            row32(x, y, count);
        } else {
            row64(x, y, count);
        }
    }
};

/// All of them.
const std::vector<RuleFunction>& rule_functions();
/// The one of that name, or nullptr: `-` of one part is a sign, of two a difference.
const RuleFunction* find_rule_function(std::string_view name, std::size_t arity);

}  // namespace attn
