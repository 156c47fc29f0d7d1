#pragma once
#include <string>

#include "attn/ground/tensor/error.hpp"

/// The message of the error that `action` throws.
template <class Error = attn::InputError>
std::string refusal(const auto& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "not refused";
}
